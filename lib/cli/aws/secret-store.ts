/** Secrets in Secrets Manager as the command line needs them: is it there, and write it. */
import {
  CreateSecretCommand,
  DescribeSecretCommand,
  PutSecretValueCommand,
  SecretsManagerClient,
} from "@aws-sdk/client-secrets-manager";
import { callAws, errorNameOf } from "./aws-failure.ts";

/** `empty`: it has a name but no value yet. `deleted`: it is there until its recovery window ends. */
export type SecretState = "absent" | "present" | "empty" | "deleted";

type Secret = { id: string; region: string; signal: AbortSignal };

export async function readSecretState({ id, region, signal }: Secret): Promise<SecretState> {
  const client = new SecretsManagerClient({ region });
  try {
    const secret = await callAws({
      doing: `look for the secret ${id}`,
      signal,
      call: (options) => client.send(new DescribeSecretCommand({ SecretId: id }), options),
    });
    if (secret.DeletedDate !== undefined) return "deleted";
    return Object.keys(secret.VersionIdsToStages ?? {}).length > 0 ? "present" : "empty";
  } catch (thrown) {
    if (errorNameOf(thrown) === "ResourceNotFoundException") return "absent";
    throw thrown;
  }
}

export async function createSecret({
  id,
  region,
  signal,
  value,
  description,
  stageName,
}: Secret & { value: string; description: string; stageName: string }): Promise<void> {
  const client = new SecretsManagerClient({ region });
  const Tags = [{ Key: "sekisho:stage", Value: stageName }];
  await callAws({
    doing: `create the secret ${id}`,
    signal,
    call: (options) =>
      client.send(new CreateSecretCommand({ Name: id, Description: description, SecretString: value, Tags }), options),
  });
}

export async function putSecretValue({ id, region, signal, value }: Secret & { value: string }): Promise<void> {
  const client = new SecretsManagerClient({ region });
  await callAws({
    doing: `write the secret ${id}`,
    signal,
    call: (options) => client.send(new PutSecretValueCommand({ SecretId: id, SecretString: value }), options),
  });
}
