/** What a token endpoint of OAuth 2 answers (RFC 6749, section 5.1). Pure. */
import { credentialFailure } from "./credential-error.ts";
import { isToken } from "./token.ts";
import type { FreshToken } from "./token-authorizer.ts";

/** Where the issuer does not say how long a token lives, which it may. */
const unsaidLifetimeSeconds = 300;

/** Throws `unavailable` for an answer without a usable bearer token. `expires_in` comes as a text from some. */
export function readTokenResponse({ access_token, token_type, expires_in }: Record<string, unknown>): FreshToken {
  const isBearer = typeof token_type === "string" && token_type.toLowerCase() === "bearer";
  if (!isBearer || !isToken(access_token)) throw credentialFailure({ code: "NoToken" });
  const seconds = Number(expires_in ?? unsaidLifetimeSeconds);
  return { token: access_token, lifetimeMs: 1000 * (seconds > 0 ? seconds : unsaidLifetimeSeconds) };
}
