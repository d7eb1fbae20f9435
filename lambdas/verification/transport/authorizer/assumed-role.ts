/** The credentials of a role that is assumed for signing, kept until shortly before they expire. */
import type { AwsCredentials } from "../../../shared/aws/credentials.ts";
import type { Sts } from "../../../shared/aws/sts.ts";
import { createKeptCredential, type KeepSeams, type KeptCredential } from "./kept-credential.ts";
import { throwStsFailure } from "./sts-failure.ts";

/** `externalId` is what the role's trust asks for beside the caller. */
export type AssumedRole = { sts: Pick<Sts, "assumeRole">; roleArn: string; externalId?: string | undefined };

/** What every role allows, and the most for a role that is assumed by another, as here. */
const durationSeconds = 3600;

export function keepAssumedRole({
  sts,
  roleArn,
  externalId,
  ...seams
}: KeepSeams & AssumedRole): KeptCredential<AwsCredentials> {
  return createKeptCredential({
    ...seams,
    async fetch({ signal }) {
      const credential = await sts.assumeRole({ roleArn, externalId, durationSeconds, signal }).catch(throwStsFailure);
      return { credential, lifetimeMs: durationSeconds * 1000 };
    },
  });
}
