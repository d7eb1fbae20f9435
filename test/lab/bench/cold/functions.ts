/** The functions whose cold start is measured: their configuration, and one event with the answer that is expected. */
import type { parseConfig } from "@sekisho/config/load.ts";
import type { Config } from "@sekisho/config/schema.ts";
import type { createStageConfig } from "@sekisho/config/stage-config.ts";
import { createSqsRecord } from "../../../doubles/aws/sqs-event.ts";
import { callerRoleArn, functionUrlEvent } from "../../../execution/handlers/function-url.ts";
import { sampleAsk } from "../../../verification/task/sample.ts";
import { slackEvent } from "./slack-event.ts";
import type { ColdStart } from "./start.ts";

export type ColdFunction = Omit<ColdStart, "file" | "event"> & { event: () => unknown };

const team = "T012AB3CD";
const region = "eu-central-1";
const queueArn = `arn:aws:sqs:${region}:111111111111:tasks`;

/** A stage whose one destination is at `awsUrl`, as everything else. The functions are those of the checkout that is bundled. */
export function createColdConfig(request: {
  awsUrl: string;
  parseConfig: typeof parseConfig;
  createStageConfig: typeof createStageConfig;
}): Config {
  const { awsUrl, parseConfig, createStageConfig } = request;
  const json = {
    allowlist: [{ team }],
    destinations: {
      far: { transport: "https", url: `${awsUrl}/execute`, authorizer: { type: "none" } },
    },
    routes: [{ destination: "far" }],
    execution: { syncBudgetMs: 0 },
    stages: {
      dev: { verification: { account: "111111111111", region }, execution: { kind: "lambda" } },
    },
  };
  return createStageConfig({ config: parseConfig({ json }), stageName: "dev" });
}

export function listColdFunctions(awsUrl: string) {
  const env = {
    AWS_REGION: region,
    AWS_ACCESS_KEY_ID: "AKIDEXAMPLE",
    AWS_SECRET_ACCESS_KEY: "an-aws-secret",
    AWS_ENDPOINT_URL: awsUrl,
    SEKISHO_LOG_LEVEL: "error",
    SEKISHO_TABLE: "tasks",
    SEKISHO_QUEUE_URL: `${awsUrl}/1/tasks`,
    SEKISHO_QUEUE_ARN: queueArn,
    SEKISHO_SIGNING_SECRET: "signing",
    SEKISHO_ROUTES_PARAMETER: "routes",
    SEKISHO_FILES_BUCKET: "files",
    SEKISHO_SLACK_API_URL: `${awsUrl}/slack/`,
    SEKISHO_COMPLETIONS_URL: `${awsUrl}/1/completions`,
    SEKISHO_CALLERS: callerRoleArn,
  };
  const call = {
    jsonrpc: "2.0",
    id: "0d1c2b3a-4f5e-5a6b-8c7d-9e0f1a2b3c4d",
    method: "execute_task",
    params: { channel: "C1", text: "What is a sekisho?", thread_ts: "1.2" },
  };
  const isOk = (answer: string) => /"statusCode":200/.test(answer);
  return {
    ingress: { env, event: () => JSON.parse(slackEvent()), isExpected: isOk },
    worker: {
      env,
      event: () => ({
        Records: [
          createSqsRecord(JSON.stringify({ ...sampleAsk({ team }), receivedAtMs: Date.now() }), {
            arn: queueArn,
          }),
        ],
      }),
      isExpected: (answer: string) => answer === '{"batchItemFailures":[]}',
    },
    executionUrl: {
      env,
      event: () => functionUrlEvent({ body: JSON.stringify(call) }),
      isExpected: (answer: string) => isOk(answer) && answer.includes("accepted"),
    },
  } satisfies Record<string, ColdFunction>;
}
