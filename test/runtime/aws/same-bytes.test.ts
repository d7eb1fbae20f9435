/** Each call of AWS that the functions make, beside the same call of the SDK's client: the bytes that arrive at one server. */
import * as dynamoDb from "@aws-sdk/client-dynamodb";
import * as secretsManager from "@aws-sdk/client-secrets-manager";
import * as sqs from "@aws-sdk/client-sqs";
import * as ssm from "@aws-sdk/client-ssm";
import * as sts from "@aws-sdk/client-sts";
import { afterEach, beforeEach, describe, expect, it, jest } from "@jest/globals";
import type { AwsDependencies } from "@sekisho/runtime/aws/credentials.ts";
import { createReadManagedSecret } from "@sekisho/runtime/aws/secrets-manager.ts";
import { createSts } from "@sekisho/runtime/aws/sts.ts";
import { createRetryLater } from "@sekisho/runtime/engine/aws/batch.ts";
import { openDynamoDb, openSqs } from "@sekisho/runtime/engine/aws/client.ts";
import { shardCount } from "@sekisho/runtime/engine/aws/table.ts";
import { createSqsQueue } from "@sekisho/runtime/engine/aws/task-queue.ts";
import { createDynamoTaskStore } from "@sekisho/runtime/engine/aws/task-store.ts";
import type { TaskItem } from "@sekisho/runtime/engine/ports.ts";
import { silentLog } from "@sekisho/runtime/log.ts";
import { version } from "@sekisho/runtime/version.ts";
import { createReadFormer, openSsm } from "@sekisho/verification/config/former-settings.ts";
import { createSendToQueue } from "@sekisho/verification/ingress/http-api.ts";
import { createManagedInstallations } from "@sekisho/verification/installations/managed-installations.ts";
import { createTableLedger } from "@sekisho/verification/oauth/table-ledger.ts";
import { toStateBucket } from "@sekisho/verification/task/buckets.ts";
import { serve } from "../../doubles/serving.ts";
import { sigv4Problem } from "../../doubles/sigv4-check.ts";
import type { Received } from "../../doubles/web-server.ts";
import { hangSignal } from "../../tooling/hang.ts";

const region = "eu-central-1";
const credentials = {
  accessKeyId: "AKIDEXAMPLE",
  secretAccessKey: "an-aws-secret",
  sessionToken: "a-session",
};
/** A whole second, so that the server's `Date` is exact. */
const nowMs = 1_762_750_300_000;
const queueUrl = "https://sqs.eu-central-1.amazonaws.com/111111111111/tasks";
/** Characters that JSON escapes, in the SDK's way or in another. */
const odd = 'a "quoted" \\ text\n\t\u0000\u001f\u007f\u2028 関所 🏯 <&> \ud83c / é';
const trace = "Root=1-2-3;Parent=4;Sampled=0;Lineage=1:5:6";
const savedEnv = { ...process.env };

type InvokeStore = { run(context: object, act: () => Promise<void>): Promise<void> };

type Client = { send(command: never): Promise<unknown>; destroy(): void };
type Sdk = Record<string, unknown>;
const sdks: Record<string, { sdk: Sdk; open: (config: object) => Client }> = {
  DynamoDB_20120810: { sdk: dynamoDb, open: (config) => new dynamoDb.DynamoDBClient(config) },
  AmazonSQS: {
    sdk: sqs,
    open: (config) => new sqs.SQSClient({ useQueueUrlAsEndpoint: false, md5: false, ...config }),
  },
  AmazonSSM: { sdk: ssm, open: (config) => new ssm.SSMClient(config) },
  secretsmanager: {
    sdk: secretsManager,
    open: (config) => new secretsManager.SecretsManagerClient(config),
  },
};

/** Succeeds with whatever the caller needs to go on. */
const answers: Record<string, object> = {
  GetSecretValue: { SecretString: '{"team":"T1"}' },
  GetParameter: { Parameter: { Value: "{}", Version: 2 } },
  ReceiveMessage: { Messages: [] },
};
const refusals: Record<string, string> = { CreateSecret: "InvalidRequestException" };

function answer({ request }: Received): Response {
  const headers = { date: new Date(nowMs).toUTCString() };
  const [, operation = ""] = (request.headers.get("x-amz-target") ?? "").split(".");
  const refusal = refusals[operation];
  if (refusal !== undefined) return Response.json({ __type: refusal }, { status: 400, headers });
  if (operation !== "") return Response.json(answers[operation] ?? {}, { headers });
  return new Response("<R><WebIdentityToken>t</WebIdentityToken></R>", { headers });
}

beforeEach(() => {
  jest.spyOn(Date, "now").mockReturnValue(nowMs);
});
afterEach(() => {
  jest.restoreAllMocks();
  process.env = { ...savedEnv };
});

/** What arrives when `act` runs. Its own errors do not matter here. */
async function arrivingFrom(act: (aws: AwsDependencies) => Promise<unknown>): Promise<Received[]> {
  const { url, received: requests } = await serve(answer);
  await act({
    region,
    credentials: async () => credentials,
    endpointOf: () => new URL(`${url}/`),
  }).catch(() => {});
  return requests;
}

/** The same call as the SDK's client makes it. */
async function bySdk({ request, body }: Received): Promise<Received> {
  const [service = "", operation = ""] = (request.headers.get("x-amz-target") ?? "").split(".");
  const { sdk, open } = sdks[service] ?? {};
  const Command = sdk?.[`${operation}Command`] as new (input: unknown) => never;
  return sentBy((endpoint) => {
    const client = open?.({ region, credentials, endpoint });
    return { client, command: new Command(JSON.parse(Buffer.from(body).toString())) };
  });
}

async function sentBy(
  make: (endpoint: string) => { client: Client | undefined; command: unknown },
): Promise<Received> {
  const { url, received: requests } = await serve(answer);
  const { client, command } = make(url);
  await client?.send(command as never).catch(() => {});
  client?.destroy();
  const [first] = requests;
  if (first === undefined) throw new Error("the SDK sent nothing");
  return first;
}

/** The SDK's own marks, which tell AWS which SDK it is, and which attempt. */
const marks = ["amz-sdk-invocation-id", "amz-sdk-request", "user-agent", "x-amz-user-agent"];

/** Everything but the host, which is that of each server, and the signature, which covers it and the marks. */
function bytesOf({ request, target, body }: Received) {
  const headers = new Map(request.headers);
  const [, scope, names = ""] =
    /Credential=([^,]+), SignedHeaders=([^,]+)/.exec(headers.get("authorization") ?? "") ?? [];
  const signedNames = names.split(";").filter((name) => !marks.includes(name));
  for (const name of [...marks, "host", "authorization"]) headers.delete(name);
  return {
    method: request.method,
    target,
    headers: Object.fromEntries(headers),
    scope,
    signed: signedNames,
    body: Buffer.from(body).toString(),
  };
}

const item: TaskItem = {
  id: `task ${odd}`,
  revision: 3,
  state: "new",
  thread: "t",
  principal: "p",
  listedAtMs: 1,
  expiresAtMs: nowMs * 2,
};
const parse = (json: unknown) => json as TaskItem;
const storeOf = (aws: AwsDependencies, hasPrincipals = true) =>
  createDynamoTaskStore({
    client: openDynamoDb(aws),
    table: "tasks",
    parse,
    hasPrincipals,
    bucketOf: toStateBucket,
  });
const queueOf = (aws: AwsDependencies) =>
  createSqsQueue({ client: openSqs(aws), queueUrl, now: () => nowMs });
const receive = { max: 3, visibilityTimeoutMs: 90_000, waitMs: 0 };

const calls: Record<
  string,
  { operations: string[]; act: (aws: AwsDependencies) => Promise<unknown> }
> = {
  "the store gets": { operations: ["GetItem"], act: (aws) => storeOf(aws).get(item) },
  "the store creates": { operations: ["PutItem"], act: (aws) => storeOf(aws).create({ item }) },
  "the store replaces": {
    operations: ["UpdateItem"],
    act: (aws) => storeOf(aws).replace({ item }),
  },
  "the store replaces an item that is in fewer indexes": {
    operations: ["UpdateItem"],
    act: (aws) =>
      storeOf(aws).replace({ item: { id: "a", revision: 1, state: "done", expiresAtMs: 1.5 } }),
  },
  "the store writes several items": {
    operations: ["TransactWriteItems"],
    act: (aws) =>
      storeOf(aws).writeTogether({
        writes: [
          { type: "replace", item },
          { type: "create", item: { ...item, id: `other ${odd}` } },
        ],
      }),
  },
  "the store removes": { operations: ["DeleteItem"], act: (aws) => storeOf(aws).remove(item) },
  "the store lists by state": {
    operations: Array(shardCount).fill("Query"),
    act: (aws) => storeOf(aws).list({ index: "state", key: "done", limit: 5 }),
  },
  "the store lists by principal": {
    operations: ["Query"],
    act: (aws) => storeOf(aws).list({ index: "principal", key: odd, limit: 5 }),
  },
  "the store reads the whole table": {
    operations: ["Scan"],
    act: (aws) => storeOf(aws, false).list({ index: "thread", key: odd, limit: 5 }),
  },
  "the queue sends": {
    operations: ["SendMessage"],
    act: (aws) => queueOf(aws).send({ body: JSON.stringify({ odd }) }),
  },
  "the queue sends with a delay and in a group": {
    operations: ["SendMessage"],
    act: (aws) => queueOf(aws).send({ body: "{}", delayMs: 3600_000, group: "T1" }),
  },
  "the queue receives": {
    operations: ["ReceiveMessage"],
    act: (aws) => queueOf(aws).receive(receive),
  },
  "the queue finishes": {
    operations: ["DeleteMessage"],
    act: (aws) => queueOf(aws).finish({ receipt: `${nowMs + 1}.handle+/=` }),
  },
  "a failed message is set to come again": {
    operations: ["ChangeMessageVisibility"],
    act: (aws) =>
      createRetryLater({ client: openSqs(aws), queueUrl, idsOf: () => ({}), log: silentLog })({
        body: "{}",
        receiptHandle: "handle",
        receiveCount: 2,
        notBeforeMs: 0,
      }),
  },
  "an operator asks for the queue": {
    operations: ["GetQueueAttributes"],
    act: (aws) =>
      openSqs(aws).call("GetQueueAttributes", { QueueUrl: queueUrl, AttributeNames: ["QueueArn"] }),
  },
  "the ingress sends": {
    operations: ["SendMessage"],
    act: (aws) =>
      createSendToQueue({ ...aws, queueUrl }).send({ body: JSON.stringify({ odd }), group: "T1" }),
  },
  "the ledger counts": {
    operations: ["UpdateItem"],
    act: (aws) =>
      createTableLedger({ table: "tasks", aws, now: () => nowMs }).useState({
        id: "state",
        issuedAtMs: nowMs,
      }),
  },
  "the former live settings are read": {
    operations: ["GetParameter", "GetParameterHistory"],
    act: (aws) => createReadFormer({ ssm: openSsm(aws), name: "/a/b" })(),
  },
  "a secret is read": {
    operations: ["GetSecretValue"],
    act: (aws) => createReadManagedSecret(aws)({ id: "a/b" }),
  },
  "an installation is read": {
    operations: ["GetSecretValue"],
    act: (aws) => createManagedInstallations({ prefix: "p/", aws }).get({ id: "T1" }),
  },
  "an installation is stored over a deleted one": {
    operations: ["CreateSecret", "RestoreSecret", "PutSecretValue"],
    act: (aws) =>
      createManagedInstallations({ prefix: "p/", aws }).put({
        id: "T1",
        installation: { botToken: "xoxb-1" } as never,
      }),
  },
};

describe("the bytes of an AWS call", () => {
  it.each(Object.entries(calls))(
    "sends the same bytes as the SDK client when %s",
    async (_what, { operations, act }) => {
      const ours = await arrivingFrom(act);
      expect(ours.map(({ request }) => request.headers.get("x-amz-target")?.split(".")[1])).toEqual(
        operations,
      );
      for (const requests of ours) {
        expect(bytesOf(requests)).toEqual(bytesOf(await bySdk(requests)));
        const [, service = ""] =
          /\/([a-z]+)\/aws4_request/.exec(requests.request.headers.get("authorization") ?? "") ??
          [];
        expect(
          sigv4Problem({ received: requests, credentials, service, region, nowMs }),
        ).toBeUndefined();
      }
    },
  );

  it.each([
    [
      "with the trace of the invocation",
      { AWS_LAMBDA_FUNCTION_NAME: "worker", _X_AMZN_TRACE_ID: trace },
      {},
    ],
    [
      "with the trace of an invocation that shares its process with others",
      { AWS_LAMBDA_FUNCTION_NAME: "worker", _X_AMZN_TRACE_ID: "Root=of-another" },
      { X_RAY_TRACE_ID: trace, TRACEPARENT: "00-1-2-01", TRACESTATE: "a=1", BAGGAGE: "b=2" },
    ],
    ["without a trace outside of a function", { _X_AMZN_TRACE_ID: trace }, {}],
  ] as const)("sends the same bytes as the SDK client %s", async (_what, variables, context) => {
    const act = (aws: AwsDependencies) => storeOf(aws).get(item);
    const [warm] = await arrivingFrom(act);
    // The SDK makes the store of invocations at its first call; on Lambda the runtime has made it before.
    if (warm !== undefined) await bySdk(warm);
    const { awslambda } = globalThis as { awslambda?: { InvokeStore?: InvokeStore } };
    const symbols = Object.entries(context).map(([name, value]) => [
      Symbol.for(`_AWS_LAMBDA_${name}`),
      value,
    ]);
    Object.assign(process.env, variables);
    await awslambda?.InvokeStore?.run(Object.fromEntries(symbols), async () => {
      const [requests] = await arrivingFrom(act);
      if (requests === undefined) throw new Error("nothing arrived");
      expect(bytesOf(requests)).toEqual(bytesOf(await bySdk(requests)));
      const isInFunction = "AWS_LAMBDA_FUNCTION_NAME" in variables;
      expect(requests.request.headers.get("x-amzn-trace-id")).toBe(isInFunction ? trace : null);
    });
    await awslambda?.InvokeStore?.run({}, async () => {});
    expect.assertions(2);
  });

  it.each([
    ["no id", undefined],
    ["an id", "checkout.prod"],
    ["an id with characters that AWS does not allow", "my team/app (関所)\r\nx: y"],
    ["an id of 50 characters", "a".repeat(50)],
    ["an id of more than 50 characters", "a".repeat(51)],
  ])("leaves the user agent of Sekisho unsigned and accepts %s", async (_what, id) => {
    const warn = jest.spyOn(process, "emitWarning").mockImplementation(() => {});
    jest.spyOn(console, "warn").mockImplementation(() => {});
    if (id !== undefined) process.env.AWS_SDK_UA_APP_ID = id;
    const [requests] = await arrivingFrom((aws) => storeOf(aws).get(item));
    if (requests === undefined) throw new Error("nothing arrived");
    const sdk = await bySdk(requests);
    const agentOf = ({ request }: Received) => request.headers.get("user-agent") ?? "";
    const appOf = (agent: string) =>
      agent.split(" ").filter((section) => section.startsWith("app/"));
    expect(agentOf(requests).split(" ")[0]).toBe(`sekisho/${version}`);
    expect(appOf(agentOf(requests))).toEqual(appOf(agentOf(sdk)));
    expect(appOf(agentOf(sdk))).toHaveLength(id === undefined ? 0 : 1);
    for (const { request } of [requests, sdk]) {
      expect(request.headers.get("authorization")).not.toMatch(/[;=]user-agent[;,]/);
    }
    expect(warn).toHaveBeenCalledTimes((id?.length ?? 0) > 50 ? 1 : 0);
  });

  it("sends the same bytes as the SDK client when a role is assumed and when a token is issued", async () => {
    const signal = hangSignal();
    const open = ({ endpointOf, ...aws }: AwsDependencies) =>
      createSts({ ...aws, endpoint: endpointOf("sts") });
    const roleArn = "arn:aws:iam::111111111111:role/a role/ü";
    const pairs = [
      {
        ours: (aws: AwsDependencies) =>
          open(aws).assumeRole({ roleArn, externalId: "an id*", durationSeconds: 3600, signal }),
        command: new sts.AssumeRoleCommand({
          RoleArn: roleArn,
          RoleSessionName: "sekisho",
          DurationSeconds: 3600,
          ExternalId: "an id*",
        }),
      },
      {
        ours: (aws: AwsDependencies) =>
          open(aws).getWebIdentityToken({ audience: "https://a.example/(b)", signal }),
        command: new sts.GetWebIdentityTokenCommand({
          Audience: ["https://a.example/(b)"],
          SigningAlgorithm: "RS256",
          DurationSeconds: 300,
        }),
      },
    ];
    for (const { ours, command } of pairs) {
      const [requests] = await arrivingFrom(ours);
      if (requests === undefined) throw new Error("nothing arrived");
      const sdk = await sentBy((endpoint) => ({
        client: new sts.STSClient({ region, credentials, endpoint }),
        command,
      }));
      expect(bytesOf(requests)).toEqual(bytesOf(sdk));
      expect(
        sigv4Problem({ received: requests, credentials, service: "sts", region, nowMs }),
      ).toBeUndefined();
    }
  });
});
