/** Bearer tokens (RFC 6750, section 2.1). The authorizer fetches one and caches it until it expires or the peer refuses it. */
import { SekishoError } from "@sekisho/contracts/errors.ts";
import { type CredentialCacheOptions, createCachedCredential } from "../async/cached-credential.ts";
import { type AddedCredentials, type Authorizer, createCredentialError } from "./authorizer.ts";

type FetchToken = (request: { signal: AbortSignal }) => Promise<FreshToken>;

/** `header` holds the token by itself. `fetchToken` rejects like `authorize`. A malformed token is `unauthenticated`. No error message contains the token. */
export function createTokenAuthorizer(
  options: CredentialCacheOptions & { fetchToken: FetchToken; header?: string | undefined },
): Authorizer {
  const { fetchToken, header, ...cacheOptions } = options;
  const toHeaders = (token: string): Record<string, string> =>
    header === undefined ? { authorization: `Bearer ${token}` } : { [header.toLowerCase()]: token };
  const cache = createCachedCredential<AddedCredentials>({
    ...cacheOptions,
    async fetch({ signal }) {
      const { token, lifetimeMs } = await fetchToken({ signal });
      if (!isToken(token)) throw new SekishoError("unauthenticated", { certainty: "undelivered" });
      return { credential: { headers: toHeaders(token) }, lifetimeMs };
    },
  });
  return {
    authorize: () => cache.current(),
    refresh: (refusedCredentials) =>
      cache.forget((credential) => credential === refusedCredentials),
  };
}

/** The authorizer `bearer`: a token read by reference, cached until the peer refuses it. */
export function createBearerAuthorizer({
  readToken,
  header,
}: {
  readToken: () => Promise<string>;
  header?: string | undefined;
}): Authorizer {
  return createTokenAuthorizer({
    header,
    fetchToken: async () => ({ token: await readToken(), lifetimeMs: Number.POSITIVE_INFINITY }),
  });
}

export type FreshToken = { token: string; lifetimeMs: number };

/** A token must be visible ASCII to be sent in a header. */
export function isToken(value: unknown): value is string {
  return typeof value === "string" && /^[\x21-\x7e]+$/.test(value);
}

/** `expires_in` is optional. */
const defaultLifetimeSeconds = 300;

/**
 * Reads the response of an OAuth 2 token endpoint (RFC 6749, section 5.1). Throws `unavailable` if it has no usable bearer token. Some
 * issuers send `expires_in` as a string.
 */
export function readTokenResponse({
  access_token,
  token_type,
  expires_in,
}: Record<string, unknown>): FreshToken {
  const isBearer = typeof token_type === "string" && token_type.toLowerCase() === "bearer";
  if (!isBearer || !isToken(access_token)) throw createCredentialError({ code: "NoToken" });
  const seconds = Number(expires_in ?? defaultLifetimeSeconds);
  return {
    token: access_token,
    lifetimeMs: 1000 * (seconds > 0 ? seconds : defaultLifetimeSeconds),
  };
}
