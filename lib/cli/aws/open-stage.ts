/** A stage on AWS with the operator's own credentials: what its stack says of itself, and a client of its table. */
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import type { Config } from "../../../lambdas/shared/config/schema.ts";
import { dynamoDbSettings } from "../../../lambdas/shared/engine/aws/client.ts";
import { callAws } from "./aws-failure.ts";
import { readStackOutputs, type StackOutputs } from "./stack-outputs.ts";
import { chooseStage, type NamedStage } from "./stage.ts";

export type OpenStage = NamedStage & {
  outputs: StackOutputs;
  region: string;
  client: DynamoDBClient;
  /** One call within a deadline of its own; `doing` completes "Could not ...". Rejects with an AwsFailure. */
  guarded: <T>(doing: string, call: () => Promise<T>) => Promise<T>;
};

/** Rejects with what to do where the stage is unknown, not deployed, or of another account. */
export async function openStage({
  config,
  stage,
  signal,
}: {
  config: Config;
  stage: string;
  signal: AbortSignal;
}): Promise<OpenStage> {
  const named = chooseStage(config, stage);
  const outputs = await readStackOutputs({ ...named, signal });
  const { region } = named.stage.verification;
  const client = new DynamoDBClient({ ...dynamoDbSettings, region });
  return { ...named, outputs, region, client, guarded: (doing, call) => callAws({ doing, signal, call }) };
}
