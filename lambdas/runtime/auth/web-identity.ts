/** The authorizer `web-identity`: a token of AWS STS that names the caller's role. No secret is stored. */

import type { CredentialCacheOptions } from "../async/cached-credential.ts";
import type { Sts, WebIdentityTags } from "../aws/sts.ts";
import { throwAwsFailure } from "./assumed-role.ts";
import type { Authorizer, OutgoingRequest } from "./authorizer.ts";
import { createPersonalAuthorizer } from "./personal.ts";
import { createTokenAuthorizer } from "./token-authorizer.ts";

/** The receiver verifies the token with the keys that the account's issuer publishes. `sub` is the role's ARN. */
export function createWebIdentityAuthorizer(
  options: CredentialCacheOptions & {
    sts: Pick<Sts, "getWebIdentityToken">;
    audience: string;
    signingAlgorithm?: "RS256" | "ES384";
    durationSeconds?: number;
    /** Each person's calls then have a token of their own, with the person as its tags. */
    tags?: boolean | undefined;
  },
): Authorizer {
  const {
    sts,
    audience,
    signingAlgorithm = "RS256",
    durationSeconds = 300,
    tags: hasTags = false,
    ...cacheOptions
  } = options;
  const create = (tagsOf?: () => WebIdentityTags) =>
    createTokenAuthorizer({
      ...cacheOptions,
      async fetchToken({ signal }) {
        const tags = tagsOf?.();
        const request = { audience, signingAlgorithm, durationSeconds, tags, signal };
        const token = await sts.getWebIdentityToken(request).catch(throwAwsFailure);
        return { token, lifetimeMs: durationSeconds * 1000 };
      },
    });
  return hasTags
    ? createPersonalAuthorizer((latestRequest) => create(() => toTags(latestRequest())))
    : create();
}

/**
 * The tags are the same for all calls of one person, so that one call of STS serves them for minutes. Ids of Slack have letters and digits only,
 * which STS allows. Without a person there are none.
 */
function toTags({ asker }: OutgoingRequest): WebIdentityTags {
  if (asker === undefined) return {};
  const { team, enterprise, user } = asker.person;
  return {
    slack_team: team,
    slack_user: user,
    ...(enterprise && { slack_enterprise: enterprise }),
  };
}
