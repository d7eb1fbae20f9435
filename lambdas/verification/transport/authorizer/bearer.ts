/** The authorizer `bearer`: a token read by reference, kept until the peer refuses it. */
import type { Authorizer } from "./authorizer.ts";
import { createTokenAuthorizer } from "./token-authorizer.ts";

export function createBearerAuthorizer({ readToken }: { readToken: () => Promise<string> }): Authorizer {
  return createTokenAuthorizer({
    fetchToken: async () => ({ token: await readToken(), lifetimeMs: Number.POSITIVE_INFINITY }),
  });
}
