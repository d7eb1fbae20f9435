/** The authorizer `web-identity`: a token of AWS STS that names the caller's role. No secret is stored. */

import type { CredentialCacheOptions } from "../async/cached-credential.ts";
import type { Sts } from "../aws/sts.ts";
import { throwAwsFailure } from "./assumed-role.ts";
import type { Authorizer } from "./authorizer.ts";
import { createTokenAuthorizer } from "./token-authorizer.ts";

/** The receiver verifies the token with the keys that the account's issuer publishes. `sub` is the role's ARN. */
export function createWebIdentityAuthorizer(
  options: CredentialCacheOptions & {
    sts: Pick<Sts, "getWebIdentityToken">;
    audience: string;
    signingAlgorithm?: "RS256" | "ES384";
    durationSeconds?: number;
  },
): Authorizer {
  const {
    sts,
    audience,
    signingAlgorithm = "RS256",
    durationSeconds = 300,
    ...cacheOptions
  } = options;
  return createTokenAuthorizer({
    ...cacheOptions,
    async fetchToken({ signal }) {
      const request = { audience, signingAlgorithm, durationSeconds, signal };
      const token = await sts.getWebIdentityToken(request).catch(throwAwsFailure);
      return { token, lifetimeMs: durationSeconds * 1000 };
    },
  });
}
