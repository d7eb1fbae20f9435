/** The credentials of a role that is assumed for signing, kept until shortly before they expire. */

import {
  type CachedCredential,
  type CredentialCacheOptions,
  createCachedCredential,
} from "../../../shared/async/cached-credential.ts";
import type { AwsCredentials } from "../../../shared/aws/credentials.ts";
import { AwsCallError } from "../../../shared/aws/json-call.ts";
import type { Sts } from "../../../shared/aws/sts.ts";
import { codeOf, createCredentialError } from "./authorizer.ts";

/** `externalId` is what the role's trust asks for beside the caller. */
export type AssumedRole = { sts: Pick<Sts, "assumeRole">; roleArn: string; externalId?: string | undefined };

/** What every role allows, and the most for a role that is assumed by another, as here. */
const durationSeconds = 3600;

export function cacheAssumedRole({
  sts,
  roleArn,
  externalId,
  ...cacheOptions
}: CredentialCacheOptions & AssumedRole): CachedCredential<AwsCredentials> {
  return createCachedCredential({
    ...cacheOptions,
    async fetch({ signal }) {
      const credential = await sts.assumeRole({ roleArn, externalId, durationSeconds, signal }).catch(throwStsFailure);
      return { credential, lifetimeMs: durationSeconds * 1000 };
    },
  });
}

/** STS says 400 to what is asked too often, and to what will do later. */
const transientErrors = /throttl|limitexceeded|toomanyrequests|requesttimeout|expiredtoken/i;

/** For `catch`: throws what `createCredentialError` makes of it. */
export function throwStsFailure(thrown: unknown): never {
  const refused = thrown instanceof AwsCallError && !transientErrors.test(thrown.name) ? thrown.status : 0;
  throw createCredentialError({ status: refused, code: codeOf(thrown) });
}
