/** Assumes a role for signing, and caches its credentials until shortly before they expire. */

import {
  type CachedCredential,
  type CredentialCacheOptions,
  createCachedCredential,
} from "../async/cached-credential.ts";
import type { AwsCredentials } from "../aws/credentials.ts";
import { AwsCallError } from "../aws/retry.ts";
import type { Sts } from "../aws/sts.ts";
import { codeOf, createCredentialError } from "./authorizer.ts";

/** `externalId` is required if the role's trust policy asks for it. */
export type AssumedRole = {
  sts: Pick<Sts, "assumeRole">;
  roleArn: string;
  externalId?: string | undefined;
};

/** Every role allows one hour, and role chaining allows no more. */
const durationSeconds = 3600;

export function cacheAssumedRole(
  options: CredentialCacheOptions & AssumedRole,
): CachedCredential<AwsCredentials> {
  const { sts, roleArn, externalId, ...cacheOptions } = options;
  return createCachedCredential({
    ...cacheOptions,
    async fetch({ signal }) {
      const credential = await sts
        .assumeRole({ roleArn, externalId, durationSeconds, signal })
        .catch(throwAwsFailure);
      return { credential, lifetimeMs: durationSeconds * 1000 };
    },
  });
}

/** AWS answers 400 also to throttled requests and to others that succeed later. */
const transientErrors = /throttl|limitexceeded|toomanyrequests|requesttimeout|expiredtoken/i;

/** For use in `catch`. */
export function throwAwsFailure(error: unknown): never {
  const refusalStatus =
    error instanceof AwsCallError && !transientErrors.test(error.name) ? error.status : 0;
  throw createCredentialError({ status: refusalStatus, code: codeOf(error) });
}
