/** The deployed stages dev and prod of a reader: emulated AWS with their stacks, table, queues and secrets. */
import { randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { createCachedSecret } from "../../../lambdas/shared/async/cached-secret.ts";
import { createFingerprints } from "../../../lambdas/shared/config/live-settings.ts";
import { parseConfig } from "../../../lambdas/shared/config/load.ts";
import { createStageConfig } from "../../../lambdas/shared/config/stage-config.ts";
import { openDynamoDb } from "../../../lambdas/shared/engine/aws/client.ts";
import { createIngress } from "../../../lambdas/verification/ingress/ingress.ts";
import { startVerificationServer } from "../../../lambdas/verification/ingress/server.ts";
import { botScopes } from "../../../lambdas/verification/slack/api/manifest.ts";
import { formatStackName, verificationOutputs } from "../../../lib/cdk/names.ts";
import { startFakeSlack } from "../../../lib/local/fake-slack/fake-slack.ts";
import { cloudFormation, executionAccount, verificationAccount } from "../../cli/aws/a-stage.ts";
import { failure } from "../../doubles/answers.ts";
import { deployWorker } from "../../doubles/aws/deployed-worker.ts";
import { emulatedAws } from "../../doubles/aws/emulators.ts";
import { createQueuePair, createTaskTable } from "../../doubles/aws/emulators-resources.ts";
import { type AwsServices, startAwsServices } from "../../doubles/aws/json-services.ts";
import { openEmulators } from "../../doubles/aws/open-emulators.ts";
import { pushedSettings } from "../../doubles/aws/pushed-settings.ts";
import { startWebServer } from "../../doubles/web-server.ts";
import { type Machine, openMachine } from "./machine.ts";

export type StageWorld = Machine & {
  aws: AwsServices;
  env: Record<string, string>;
  secrets: Record<string, string>;
};

export async function openStageWorld(): Promise<StageWorld> {
  const machine = openMachine();
  const { emulators, clients, close } = await openEmulators();
  const secrets = {
    SLACK_SIGNING_SECRET: randomBytes(16).toString("hex"),
    SLACK_BOT_TOKEN: `xoxb-${randomBytes(12).toString("hex")}`,
    AGENT_TOKEN: "a-token-of-the-agent",
  };
  const [dynamoUrl, sqsUrl] = [emulators.dynamo.endpoint, emulators.queues.endpoint];
  const aws = await startAwsServices({ account: verificationAccount, sqsUrl, dynamoUrl });
  const dynamo = openDynamoDb(emulatedAws(dynamoUrl));
  const peer = await startWebServer({
    handle: async ({ body }) => failure(JSON.parse(`${body}`), "method_not_found"),
  });
  const slack = await startFakeSlack({
    signingSecret: secrets.SLACK_SIGNING_SECRET,
    botToken: secrets.SLACK_BOT_TOKEN,
    scopes: [...botScopes(parseConfig({ json: {} }))],
  });
  const signing = createCachedSecret({ readSecret: async () => secrets.SLACK_SIGNING_SECRET });
  const ingress = createIngress({
    signingSecret: signing,
    queue: { send: () => Promise.reject(new Error("none")) },
  });
  const entry = await startVerificationServer({ ingress, port: 0 });
  const json = configuration({ peer: peer.url, slack: slack.apiUrl });
  machine.configure(json);
  const functionArn = `arn:aws:lambda:${region}:222222222222:function:url`;
  for (const stageName of ["dev", "prod"]) {
    const { queueUrl, deadLettersUrl } = await createQueuePair({
      client: clients.queues,
      maxReceiveCount: 5,
    });
    const executionAddress = JSON.stringify({
      transport: "https",
      url: peer.url,
      region,
      functionArn,
    });
    const tableName = await createTaskTable({ client: clients.dynamo });
    const former = `CFN-LiveSettings-${stageName}`;
    aws.parameters.put({ name: former, value: "{}", user: cloudFormation });
    aws.stacks.set(formatStackName({ stageName, zone: "Verification" }), {
      [verificationOutputs.eventsUrl]: `${entry.url}/slack/events`,
      [verificationOutputs.queueUrl]: queueUrl,
      [verificationOutputs.deadLettersUrl]: deadLettersUrl,
      [verificationOutputs.tableName]: tableName,
      [verificationOutputs.formerLiveSettings]: former,
      [verificationOutputs.deployedDestinations]: JSON.stringify(
        createFingerprints(createStageConfig({ config: parseConfig({ json }), stageName })),
      ),
      [verificationOutputs.executionAddress]: executionAddress,
      [verificationOutputs.workerFunction]: deployWorker({
        aws,
        json,
        stageName,
        executionAddress,
        readSettings: () => pushedSettings({ client: dynamo, table: tableName }),
      }).arn,
    });
  }
  return {
    ...machine,
    aws,
    secrets,
    env: { ...aws.env, ...profileOf(machine.folder) },
    async remove() {
      await Promise.all([aws.close(), peer.close(), slack.close(), entry.close(), close()]);
      await machine.remove();
    },
  };
}

const region = "eu-central-1";

function configuration({ peer, slack }: { peer: string; slack: string }) {
  const token = { type: "bearer", token: { env: "AGENT_TOKEN" } };
  const stage = {
    verification: { account: verificationAccount, region },
    execution: { kind: "lambda", account: executionAccount, region },
    alarmEmail: "you@example.com",
  };
  return {
    slack: { apiUrl: slack },
    destinations: {
      home: { transport: "https" },
      python: { transport: "https", url: peer, authorizer: token },
    },
    routes: [{ destination: "home" }],
    execution: {
      agent: {
        type: "openai-compatible",
        baseUrl: "https://model.example/v1",
        model: "m",
        apiKey: { env: "MODEL_KEY" },
      },
    },
    stages: { dev: stage, prod: stage },
  };
}

/** The credentials of the second account, as `aws configure --profile second` writes them. */
function profileOf(folder: string): Record<string, string> {
  const file = join(folder, "credentials");
  writeFileSync(
    file,
    "[second]\naws_access_key_id = AKIDEXAMPLE\naws_secret_access_key = secret-of-the-person\n",
  );
  return { AWS_SHARED_CREDENTIALS_FILE: file, AWS_CONFIG_FILE: join(folder, "config") };
}
