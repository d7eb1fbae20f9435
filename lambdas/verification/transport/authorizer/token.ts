/** What counts as a bearer token. */
import { credentialFailure } from "./credential-error.ts";

export type FreshToken = { token: string; lifetimeMs: number };

/** Visible ASCII, as a header can carry it: nothing else is ever sent. */
export function isToken(value: unknown): value is string {
  return typeof value === "string" && /^[\x21-\x7e]+$/.test(value);
}

// What a token endpoint of OAuth 2 answers (RFC 6749, section 5.1).

/** Where the issuer does not say how long a token lives, which it may. */
const unsaidLifetimeSeconds = 300;

/** Throws `unavailable` for an answer without a usable bearer token. `expires_in` comes as a text from some. */
export function readTokenResponse({ access_token, token_type, expires_in }: Record<string, unknown>): FreshToken {
  const isBearer = typeof token_type === "string" && token_type.toLowerCase() === "bearer";
  if (!isBearer || !isToken(access_token)) throw credentialFailure({ code: "NoToken" });
  const seconds = Number(expires_in ?? unsaidLifetimeSeconds);
  return { token: access_token, lifetimeMs: 1000 * (seconds > 0 ? seconds : unsaidLifetimeSeconds) };
}
