/** A configuration with a stage in two accounts, and that stage as it is deployed. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { createFingerprints } from "@sekisho/config/live-settings.ts";
import { parseConfig } from "@sekisho/config/load.ts";
import { createStageConfig } from "@sekisho/config/stage-config.ts";
import type { AwsServices } from "../../doubles/aws/json-services.ts";

export const verificationAccount = "111111111111";
export const executionAccount = "222222222222";

export const twoAccounts = {
  destinations: {
    // On one machine it is called with a token. In a stage it is the stage's own Execution zone.
    local: { transport: "https", authorizer: { type: "bearer", token: { env: "LOCAL_TOKEN" } } },
    far: {
      transport: "https",
      url: "https://far.example/rpc",
      authorizer: { type: "bearer", token: { env: "FAR_TOKEN" } },
    },
  },
  routes: [{ channel: "C1", destination: "far" }, { destination: "local" }],
  execution: {
    agent: {
      type: "openai-compatible",
      baseUrl: "https://model.example/v1",
      model: "m",
      apiKey: { env: "MODEL_KEY" },
    },
  },
  stages: {
    prod: {
      verification: { account: verificationAccount, region: "eu-central-1" },
      execution: { kind: "lambda", account: executionAccount, region: "eu-west-1" },
    },
  },
};

export function writeConfig({
  folder,
  name,
  json,
}: {
  folder: string;
  name: string;
  json: unknown;
}): string {
  const path = join(folder, name);
  writeFileSync(path, JSON.stringify(json));
  return path;
}

const stackName = "Sekisho-prod-Verification";
/** The parameter in which the version before kept the live settings, and who writes to it. */
export const formerParameter = "CFN-LiveSettings-abc";
export const cloudFormation =
  "arn:aws:sts::111111111111:assumed-role/cdk-hnb659fds-cfn-exec-role-111111111111-eu-central-1/AWSCloudFormation";
const operator = "arn:aws:iam::111111111111:user/operator";
/** Pushes as the version before did. */
export function pushFormerly(aws: Pick<AwsServices, "parameters">, value: string): void {
  aws.parameters.put({ name: formerParameter, value, user: operator });
}

/** Publishes the outputs of the Verification stack of a deployed `json`. */
export function deploy({
  aws,
  json,
  queues,
  tableName = "tasks",
  executionAddress = "null",
  workerFunction,
}: {
  aws: AwsServices;
  json: unknown;
  queues?: Record<string, string>;
  tableName?: string;
  executionAddress?: string;
  workerFunction?: string;
}) {
  const deployed = createStageConfig({ config: parseConfig({ json }), stageName: "prod" });
  aws.parameters.remove(formerParameter);
  aws.parameters.put({ name: formerParameter, value: "{}", user: cloudFormation });
  aws.stacks.set(stackName, {
    EventsUrl: "https://abc123.execute-api.eu-central-1.amazonaws.com/slack/events",
    QueueUrl: queues?.main ?? "none",
    DeadLettersUrl: queues?.archive ?? "none",
    TableName: tableName,
    FormerLiveSettings: formerParameter,
    DeployedDestinations: JSON.stringify(createFingerprints(deployed)),
    ExecutionAddress: executionAddress,
    ...(workerFunction === undefined ? {} : { WorkerFunction: workerFunction }),
  });
}
