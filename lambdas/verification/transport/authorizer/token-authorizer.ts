/**
 * Bearer tokens (RFC 6750, section 2.1): an authorizer fetches one, caches it until it expires or the peer refuses it, and never shows
 * it.
 */
import { SekishoError } from "../../../../contracts/errors.ts";
import { type CredentialCacheOptions, createCachedCredential } from "../../../shared/async/cached-credential.ts";
import { type AddedCredentials, type Authorizer, createCredentialError } from "./authorizer.ts";

type FetchToken = (request: { signal: AbortSignal }) => Promise<FreshToken>;

/** `fetchToken` rejects as `authorize` may. What is no token is `unauthenticated`; no message ever holds it. */
export function createTokenAuthorizer({
  fetchToken,
  ...cacheOptions
}: CredentialCacheOptions & { fetchToken: FetchToken }): Authorizer {
  const cached = createCachedCredential<AddedCredentials>({
    ...cacheOptions,
    async fetch({ signal }) {
      const { token, lifetimeMs } = await fetchToken({ signal });
      if (!isToken(token)) throw new SekishoError("unauthenticated", { undelivered: true });
      return { credential: { headers: { authorization: `Bearer ${token}` } }, lifetimeMs };
    },
  });
  return {
    authorize: () => cached.current(),
    refresh: (refused) => cached.forget((credential) => credential === refused),
  };
}

/** The authorizer `bearer`: a token read by reference, cached until the peer refuses it. */
export function createBearerAuthorizer({ readToken }: { readToken: () => Promise<string> }): Authorizer {
  return createTokenAuthorizer({
    fetchToken: async () => ({ token: await readToken(), lifetimeMs: Number.POSITIVE_INFINITY }),
  });
}

export type FreshToken = { token: string; lifetimeMs: number };

/** Visible ASCII, as a header can carry it: nothing else is ever sent. */
export function isToken(value: unknown): value is string {
  return typeof value === "string" && /^[\x21-\x7e]+$/.test(value);
}

/** Where the issuer does not say how long a token lives, which it may. */
const unsaidLifetimeSeconds = 300;

/**
 * What a token endpoint of OAuth 2 answers (RFC 6749, section 5.1). Throws `unavailable` for an answer without a usable bearer token.
 * `expires_in` comes as a text from some.
 */
export function readTokenResponse({ access_token, token_type, expires_in }: Record<string, unknown>): FreshToken {
  const isBearer = typeof token_type === "string" && token_type.toLowerCase() === "bearer";
  if (!isBearer || !isToken(access_token)) throw createCredentialError({ code: "NoToken" });
  const seconds = Number(expires_in ?? unsaidLifetimeSeconds);
  return { token: access_token, lifetimeMs: 1000 * (seconds > 0 ? seconds : unsaidLifetimeSeconds) };
}
