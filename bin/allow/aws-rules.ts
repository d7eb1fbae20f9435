/** The allowlist of a stage on AWS: a record of its table, with the operator's own credentials. */
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import type { Config } from "../../lambdas/shared/config/schema.ts";
import { dynamoDbSettings } from "../../lambdas/shared/engine/aws/client.ts";
import { createDynamoTaskStore } from "../../lambdas/shared/engine/aws/task-store.ts";
import { parseKeptRules } from "../../lambdas/verification/gate/kept-rules.ts";
import { rulesKeepMs } from "../../lambdas/verification/gate/rules-in-force.ts";
import { callAws } from "../aws/aws-failure.ts";
import { readStackOutputs } from "../aws/stack-outputs.ts";
import { chooseStage } from "../aws/stage.ts";
import type { RulePlace } from "./place.ts";

/** Rejects with what to do where the stage is unknown, not deployed, or of another account. */
export async function openAwsRules({
  config,
  stage,
  signal,
}: {
  config: Config;
  stage: string;
  signal: AbortSignal;
}): Promise<RulePlace> {
  const named = chooseStage(config, stage);
  const { tableName } = await readStackOutputs({ ...named, signal });
  const client = new DynamoDBClient({ ...dynamoDbSettings, region: named.stage.verification.region });
  const store = createDynamoTaskStore({ client, table: tableName, parse: parseKeptRules, signal });
  const guarded = <T>(doing: string, call: () => Promise<T>) => callAws({ doing, signal, call });
  return {
    where: `in stage ${named.stageName}`,
    store: {
      get: (request) => guarded("read the allowlist", () => store.get(request)),
      create: (request) => guarded("write the allowlist", () => store.create(request)),
      replace: (request) => guarded("write the allowlist", () => store.replace(request)),
    },
    sinceWhen: `within ${rulesKeepMs / 1000} seconds, without a deploy`,
    ofConfiguration: `in stage ${named.stageName} as it was when it was deployed`,
    close: async () => client.destroy(),
  };
}
