/** Looks for secrets in Secrets Manager, and writes them. */
import {
  CreateSecretCommand,
  DescribeSecretCommand,
  PutSecretValueCommand,
  SecretsManagerClient,
} from "@aws-sdk/client-secrets-manager";
import { sdkUserAgent } from "@sekisho/runtime/version.ts";
import { type AwsCall, callAws, errorNameOf } from "./aws-failure.ts";

/** `empty`: it has a name but no value yet. `deleted`: it exists until its recovery window ends. */
export type SecretState = "absent" | "present" | "empty" | "deleted";

type Secret = AwsCall & { id: string };

export async function readSecretState({ id, region, signal }: Secret): Promise<SecretState> {
  const client = new SecretsManagerClient({ region, customUserAgent: sdkUserAgent });
  try {
    const secret = await callAws({
      doing: `look for the secret ${id}`,
      signal,
      call: (options) => client.send(new DescribeSecretCommand({ SecretId: id }), options),
    });
    if (secret.DeletedDate !== undefined) return "deleted";
    return Object.keys(secret.VersionIdsToStages ?? {}).length > 0 ? "present" : "empty";
  } catch (error) {
    if (errorNameOf(error) === "ResourceNotFoundException") return "absent";
    throw error;
  }
}

type SecretWrite = Secret & {
  state: SecretState;
  value: string;
  description: string;
  stageName: string;
};

/** Creates the secret where its `state` is `absent`. Any other gets a new value. */
export async function writeSecret({
  id,
  region,
  signal,
  state,
  value,
  description,
  stageName,
}: SecretWrite) {
  const client = new SecretsManagerClient({ region, customUserAgent: sdkUserAgent });
  const Tags = [{ Key: "sekisho:stage", Value: stageName }];
  const create = new CreateSecretCommand({
    Name: id,
    Description: description,
    SecretString: value,
    Tags,
  });
  const put = new PutSecretValueCommand({ SecretId: id, SecretString: value });
  await callAws<unknown>({
    doing: `${state === "absent" ? "create" : "write"} the secret ${id}`,
    signal,
    call: (options) =>
      state === "absent" ? client.send(create, options) : client.send(put, options),
  });
}
