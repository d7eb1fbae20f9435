/** What all authorizers that send a bearer token (RFC 6750, section 2.1) have in common: it is kept, renewed and never shown. */
import { SekishoError } from "../../../../contracts/errors.ts";
import { createCachedCredential, type KeepSeams } from "../../../shared/async/cached-credential.ts";
import type { AddedCredentials, Authorizer } from "./authorizer.ts";
import type { FreshToken } from "./token.ts";
import { isToken } from "./token.ts";

export type FetchToken = (request: { signal: AbortSignal }) => Promise<FreshToken>;

/** `fetchToken` rejects as `authorize` may. What is no token is `unauthenticated`; no message ever holds it. */
export function createTokenAuthorizer({ fetchToken, ...seams }: KeepSeams & { fetchToken: FetchToken }): Authorizer {
  const kept = createCachedCredential<AddedCredentials>({
    ...seams,
    async fetch({ signal }) {
      const { token, lifetimeMs } = await fetchToken({ signal });
      if (!isToken(token)) throw new SekishoError("unauthenticated", { undelivered: true });
      return { credential: { headers: { authorization: `Bearer ${token}` } }, lifetimeMs };
    },
  });
  return {
    authorize: () => kept.current(),
    refresh: (refused) => kept.forget((credential) => credential === refused),
  };
}

// The authorizer `bearer`: a token read by reference, kept until the peer refuses it.

export function createBearerAuthorizer({ readToken }: { readToken: () => Promise<string> }): Authorizer {
  return createTokenAuthorizer({
    fetchToken: async () => ({ token: await readToken(), lifetimeMs: Number.POSITIVE_INFINITY }),
  });
}
