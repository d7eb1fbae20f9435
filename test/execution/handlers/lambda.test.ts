/** Both functions of the Execution zone on Lambda, over an emulated table and emulated queues: tasks, A2A and traces. */

import { randomUUID } from "node:crypto";
import { DeleteMessageCommand, type Message, ReceiveMessageCommand } from "@aws-sdk/client-sqs";
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from "@jest/globals";
import { parseExecutionSections } from "@sekisho/config/execution-schema.ts";
import type { A2aTask } from "@sekisho/contracts/a2a/task.ts";
import type { CreateAgent } from "@sekisho/execution/agents/create-agent.ts";
import { createEchoAgent } from "@sekisho/execution/agents/echo.ts";
import { createFunctionUrlHandler } from "@sekisho/execution/handlers/function-url-handler.ts";
import { createExecutionWorkerHandler } from "@sekisho/execution/handlers/worker-handler.ts";
import { emulatorAccess, whyNoDynamoDb } from "../../doubles/aws/emulators.ts";
import { createQueuePair, createTaskTable } from "../../doubles/aws/emulators-resources.ts";
import { type OpenEmulators, openEmulators } from "../../doubles/aws/open-emulators.ts";
import { createSqsEvent } from "../../doubles/aws/sqs-event.ts";
import { startOtlpCollector } from "../../doubles/otlp-collector.ts";
import { userMessage } from "../a2a/a2a-host.ts";
import { secrets, startReceiver, statesOf } from "../a2a/push-zone.ts";
import { type Answer, answering, eventually, hello, remembering } from "../test-host.ts";
import { callersVariable, functionUrlEvent, lambdaClient } from "./function-url.ts";

const aws = {
  AWS_REGION: emulatorAccess.region,
  AWS_ACCESS_KEY_ID: "emulator",
  AWS_SECRET_ACCESS_KEY: "emulator",
};

/** The host's log lines are not asked for here. */
const quiet = { SEKISHO_LOG_LEVEL: "error" };

const context = { getRemainingTimeInMillis: () => 900_000 };

/** Sets the variables of this process, which are for the caller to put back. `execution` is that of the configuration. */
async function openLambdaZone({
  opened: { emulators, clients },
  execution,
  telemetry = {},
  createAgent = () => createEchoAgent(),
  hasClientsQueue = false,
}: {
  opened: OpenEmulators;
  execution: object;
  telemetry?: object;
  createAgent?: CreateAgent;
  /** Callers other than the Verification zone have a queue of their own. */
  hasClientsQueue?: boolean;
}) {
  const pair = () => createQueuePair({ client: clients.queues, maxReceiveCount: 3 });
  const [
    table,
    { queueUrl, deadLettersUrl },
    { queueUrl: completionsUrl },
    { queueUrl: clientsQueueUrl },
  ] = await Promise.all([createTaskTable({ client: clients.dynamo }), pair(), pair(), pair()]);
  Object.assign(process.env, aws, quiet, {
    AWS_ENDPOINT_URL_DYNAMODB: emulators.dynamo.endpoint,
    AWS_ENDPOINT_URL_SQS: emulators.queues.endpoint,
    SEKISHO_TABLE: table,
    SEKISHO_QUEUE_URL: queueUrl,
    SEKISHO_CALLERS: callersVariable,
    ...(hasClientsQueue && { SEKISHO_CLIENTS_QUEUE_URL: clientsQueueUrl }),
    SEKISHO_COMPLETIONS_URL: completionsUrl,
  });
  const config = parseExecutionSections({ execution, telemetry });
  const handle = createFunctionUrlHandler({ config });
  const work = createExecutionWorkerHandler({ config, createAgent });

  async function receive({
    from = queueUrl,
    waitSeconds = 0,
    signal = new AbortController().signal,
  } = {}) {
    const command = new ReceiveMessageCommand({
      QueueUrl: from,
      WaitTimeSeconds: waitSeconds,
      MaxNumberOfMessages: 1,
    });
    const { Messages = [] } = await clients.queues.send(command, { abortSignal: signal });
    return Messages;
  }

  /** As the event source would: what was received becomes one event. */
  async function workOn(messages: readonly Message[]) {
    const bodies = messages.map(({ Body }) => Body ?? "");
    const response = await work(createSqsEvent(bodies), context);
    return { bodies, response };
  }

  async function workAndFinish(message: Message): Promise<void> {
    const { response } = await workOn([message]);
    if (response.batchItemFailures.length > 0) return;
    const { ReceiptHandle } = message;
    await clients.queues.send(new DeleteMessageCommand({ QueueUrl: queueUrl, ReceiptHandle }));
  }

  return {
    handle,
    workOnce: async () => workOn(await receive({ waitSeconds: 10 })),
    /** What is in the completion queue. */
    pushed: async () =>
      (await receive({ from: completionsUrl })).map(({ Body = "" }) => JSON.parse(Body) as unknown),
    queued: () => receive(),
    queuedOfClients: () => receive({ from: clientsQueueUrl }),
    deadLetters: () => receive({ from: deadLettersUrl }),
    /** Works on what comes, as an event source does, until it is ended; resolves when all that it began is over. */
    workOnAll(): { end(): Promise<void> } {
      const ending = new AbortController();
      const { signal } = ending;
      const runs: Promise<void>[] = [];
      const loop = async () => {
        while (!signal.aborted) {
          const messages = await receive({ waitSeconds: 20, signal }).catch(() => []);
          runs.push(...messages.map(workAndFinish));
        }
      };
      const looping = loop();
      return {
        async end() {
          ending.abort();
          await looping;
          await Promise.all(runs);
        },
      };
    },
  };
}

const originalEnv = { ...process.env };

afterEach(() => {
  process.env = { ...originalEnv };
});

const suite = whyNoDynamoDb === undefined ? describe : describe.skip;

suite(`the functions on Lambda${whyNoDynamoDb === undefined ? "" : ` (left out: ${whyNoDynamoDb})`}`, () => {
  let emulators: OpenEmulators;
  beforeAll(async () => {
    emulators = await openEmulators();
  });
  afterAll(() => emulators.close());

  async function open({
    syncBudgetMs,
    createAgent,
  }: {
    syncBudgetMs: number;
    createAgent?: CreateAgent;
  }) {
    const zone = await openLambdaZone({
      opened: emulators,
      execution: { syncBudgetMs },
      ...(createAgent && { createAgent }),
    });
    async function call(method: string, params: unknown, id: string = randomUUID()) {
      const body = JSON.stringify({ jsonrpc: "2.0", id, method, params });
      return JSON.parse((await zone.handle(functionUrlEvent({ body }))).body) as Answer;
    }
    return { ...zone, call };
  }

  it("returns the result of a worker that finishes within the sync budget", async () => {
    const { call, workOnce } = await open({ syncBudgetMs: 15_000 });
    const [answer, { bodies, response }] = await Promise.all([
      call("execute_task", { ...hello, text: "関所 🏯", bot_token: "xoxb-hunter2" }),
      workOnce(),
    ]);
    expect(answer.result?.response_text).toContain("関所 🏯");
    expect(response).toEqual({ batchItemFailures: [] });
    expect(bodies.map((body) => Object.keys(JSON.parse(body)))).toEqual([["taskId"]]);
  });

  it("queues the tasks of other callers in a separate queue", async () => {
    const zone = await openLambdaZone({
      opened: emulators,
      execution: { syncBudgetMs: 0 },
      hasClientsQueue: true,
    });
    async function ask(role: string) {
      const body = JSON.stringify({
        jsonrpc: "2.0",
        id: randomUUID(),
        method: "execute_task",
        params: hello,
      });
      const userArn = `arn:aws:sts::111122223333:assumed-role/${role}/session`;
      const answer = await zone.handle(functionUrlEvent({ body, userArn }));
      expect((JSON.parse(answer.body) as Answer).result?.status).toBe("accepted");
    }
    await ask("a2a-client");
    expect(await zone.queued()).toHaveLength(0);
    expect(await zone.queuedOfClients()).toHaveLength(1);
    await ask("sekisho-prod-verification");
    expect(await zone.queued()).toHaveLength(1);
    expect(await zone.queuedOfClients()).toHaveLength(0);
  });

  it("pushes the end of an accepted task before the handler returns, if the request asked for it", async () => {
    const { call, workOnce, pushed } = await open({ syncBudgetMs: 0 });
    const id = randomUUID();
    const { result } = await call("execute_task", { ...hello, callback: true }, id);
    await workOnce();
    expect(await pushed()).toEqual([{ request_id: id, task_id: result?.task_id }]);
    await call("execute_task", hello);
    await workOnce();
    expect(await pushed()).toEqual([]);
  });

  it("keeps the agent's value for the next task of the conversation", async () => {
    const { call, workOnce } = await open({ syncBudgetMs: 15_000, createAgent: () => remembering });
    const session_id = "s-".padEnd(40, "1");
    const ask = async (text: string) =>
      (await Promise.all([call("execute_task", { ...hello, text, session_id }), workOnce()]))[0];
    expect((await ask("one")).result?.response_text).toBe("before: undefined");
    expect((await ask("two")).result?.response_text).toBe("before: one");
  });

  it("passes the region to the agent and refuses secrets outside Secrets Manager", async () => {
    const observations: unknown[] = [];
    const createAgent: CreateAgent = ({ region, readSecret }) => {
      observations.push(region);
      return async function* () {
        observations.push(
          await readSecret({ env: "API_KEY" }).catch(({ message }: Error) => message),
        );
        yield { type: "answer", text: "done" };
      };
    };
    const { call, workOnce } = await open({ syncBudgetMs: 0, createAgent });
    await call("execute_task", hello);
    await workOnce();
    expect(observations).toEqual(["eu-central-1", expect.stringContaining("API_KEY")]);
  });
});

describe("a function that does not start", () => {
  const startUrl = (json: unknown = {}) =>
    createFunctionUrlHandler({ config: parseExecutionSections(json) });
  const startWorker = () =>
    createExecutionWorkerHandler({
      config: parseExecutionSections({}),
      createAgent: () => answering("done"),
    });

  it("refuses to start without a required variable and names it", () => {
    process.env = {};
    expect(startUrl).toThrow(/SEKISHO_TABLE/);
    expect(startWorker).toThrow(/SEKISHO_TABLE/);
    process.env = { SEKISHO_TABLE: "tasks" };
    expect(startUrl).toThrow(/SEKISHO_QUEUE_URL/);
    process.env = {
      ...process.env,
      SEKISHO_QUEUE_URL: "https://sqs.eu-central-1.amazonaws.com/1/tasks",
    };
    expect(startUrl).toThrow(/SEKISHO_CALLERS/);
    process.env = { SEKISHO_TABLE: "tasks" };
    expect(startWorker).toThrow(/SEKISHO_COMPLETIONS_URL/);
    process.env = {
      ...process.env,
      SEKISHO_COMPLETIONS_URL: "https://sqs.eu-central-1.amazonaws.com/1/completions",
    };
    expect(startWorker).toThrow(/AWS_/);
  });

  it("refuses to start with an invalid configuration and names the wrong setting", () => {
    expect(() => startUrl({ execution: { agent: 7 } })).toThrow(/execution\.agent/);
  });
});

type Sent = { task: A2aTask };
type Listed = { tasks: A2aTask[]; nextPageToken: string; totalSize: number };

suite(`an A2A agent on Lambda${whyNoDynamoDb === undefined ? "" : ` (left out: ${whyNoDynamoDb})`}`, () => {
  let emulators: OpenEmulators;
  beforeAll(async () => {
    emulators = await openEmulators();
  });
  afterAll(() => emulators.close());

  const ending: (() => Promise<void>)[] = [];
  afterEach(async () => {
    for (const end of ending.splice(0).reverse()) await end();
    process.env = { ...originalEnv };
    jest.restoreAllMocks();
  });

  async function start({ a2a = {} }: { a2a?: object } = {}) {
    const execution = {
      syncBudgetMs: 20_000,
      leaseMs: 500,
      a2a: { url: "https://agents.example/", ...a2a },
    };
    const zone = await openLambdaZone({ opened: emulators, execution });
    const worker = zone.workOnAll();
    ending.push(worker.end);
    return {
      ...zone,
      client: lambdaClient(zone),
      other: lambdaClient({ ...zone, role: "another-client" }),
    };
  }
  type Client = Awaited<ReturnType<typeof start>>["client"];

  async function send(
    client: Client,
    text: string,
    { configuration = {}, ...more }: Record<string, unknown> = {},
  ) {
    const message = userMessage(text, more);
    return (await client.result<Sent>("SendMessage", { message, configuration })).task;
  }

  async function sendAndFinish(client: Client, text: string): Promise<A2aTask> {
    const task = await send(client, text);
    await comesTo(client, task, "TASK_STATE_COMPLETED");
    return task;
  }

  function comesTo(client: Client, { id }: { id: string }, state: string): Promise<void> {
    return eventually(async () => (await client.result("GetTask", { id })).status.state === state);
  }

  it("answers a message at once, even to a client that would wait, and reports the outcome later", async () => {
    const { client } = await start();
    const task = await send(client, "slow 1s, 関所 🏯");
    expect(task.status.state).toMatch(/SUBMITTED|WORKING/);
    await comesTo(client, task, "TASK_STATE_COMPLETED");
    expect(JSON.stringify((await client.result("GetTask", { id: task.id })).artifacts)).toContain(
      "関所 🏯",
    );
    const old = {
      kind: "message",
      messageId: "m-of-0.3",
      role: "user",
      parts: [{ kind: "text", text: "slow 1s" }],
    };
    expect(
      await client.result("message/send", { message: old, configuration: { blocking: true } }, ""),
    ).toMatchObject({
      kind: "task",
      status: { state: expect.stringMatching(/submitted|working/) },
    });
  });

  it("lists only the caller's own tasks, page by page", async () => {
    const { client, other } = await start();
    const first = await sendAndFinish(client, "first");
    const second = await sendAndFinish(client, "second");
    const foreign = await sendAndFinish(other, "of another role");
    const page = await client.result<Listed>("ListTasks", { pageSize: 1 });
    expect([page.tasks.map(({ id }) => id), page.totalSize]).toEqual([[second.id], 2]);
    const secondPage = await client.result<Listed>("ListTasks", {
      pageSize: 1,
      pageToken: page.nextPageToken,
    });
    expect([secondPage.tasks.map(({ id }) => id), secondPage.nextPageToken]).toEqual([
      [first.id],
      "",
    ]);
    expect((await other.result<Listed>("ListTasks")).tasks.map(({ id }) => id)).toEqual([
      foreign.id,
    ]);
  });

  it("pushes notices through the worker and retries while the receiver is unavailable", async () => {
    jest.spyOn(Math, "random").mockReturnValue(0);
    const { url, received, close } = await startReceiver({ answers: [503, 503] });
    ending.push(close);
    const { client, deadLetters } = await start({ a2a: { push: { allowLoopback: true } } });
    const authentication = { scheme: "Bearer", credentials: secrets.credentials };
    const taskPushNotificationConfig = { url, token: secrets.token, authentication };
    const task = await send(client, "hello", { configuration: { taskPushNotificationConfig } });
    await eventually(
      () => received.length > 2 && statesOf(received).at(-1) === "TASK_STATE_COMPLETED",
    );
    expect(received.at(-1)?.json).toEqual({
      task: await client.result("GetTask", { id: task.id }),
    });
    expect(received.at(-1)?.headers.get("authorization")).toBe(`Bearer ${secrets.credentials}`);
    expect(await deadLetters()).toEqual([]);
  });
});

const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

suite(`the functions on Lambda${whyNoDynamoDb === undefined ? "" : ` (left out: ${whyNoDynamoDb})`}`, () => {
  let emulators: OpenEmulators;
  let collector: Awaited<ReturnType<typeof startOtlpCollector>>;
  beforeAll(async () => {
    emulators = await openEmulators();
  });
  afterAll(() => emulators.close());
  afterEach(async () => {
    process.env = { ...originalEnv };
    await collector.close();
  });

  async function open(answer?: () => Promise<Response>) {
    collector = await startOtlpCollector(answer === undefined ? {} : { answer });
    process.env.AWS_LAMBDA_FUNCTION_NAME = "sekisho-dev-Worker";
    const telemetry = {
      metrics: false,
      traces: { exporter: { type: "otlp", url: collector.url } },
    };
    const zone = await openLambdaZone({
      opened: emulators,
      execution: { syncBudgetMs: 0 },
      telemetry,
    });
    const body = JSON.stringify({
      jsonrpc: "2.0",
      id: randomUUID(),
      method: "execute_task",
      params: hello,
    });
    return { ...zone, ask: () => zone.handle(functionUrlEvent({ body, more: { traceparent } })) };
  }

  it("exports its spans before returning and makes the agent's span a child of the request", async () => {
    const { ask, workOnce } = await open();
    await ask();
    const [request] = collector.spans();
    expect(request).toMatchObject({ name: "execute_task", parent: "b7ad6b7169203331", kind: 2 });
    await workOnce();
    const agent = collector.spans().find(({ name }) => name === "invoke_agent echo");
    expect(agent).toMatchObject({ parent: request?.spanId, traceId: request?.traceId });
    expect(collector.resources().at(-1)).toMatchObject({
      "service.name": "sekisho-execution",
      "cloud.region": "eu-central-1",
      "faas.name": "sekisho-dev-Worker",
    });
  });
});
