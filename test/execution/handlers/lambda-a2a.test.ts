/** A2A clients of the Execution zone on Lambda: the Function URL takes what they send, and the worker does it. */
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from "@jest/globals";
import type { A2aTask } from "../../../contracts/a2a/task.ts";
import { whyNoDynamoDb } from "../../doubles/aws/emulators.ts";
import { type OpenEmulators, openEmulators } from "../../doubles/aws/open-emulators.ts";
import { userMessage } from "../a2a/a2a-host.ts";
import { secrets, startReceiver, statesOf } from "../a2a/push-zone.ts";
import { eventually } from "../test-host.ts";
import { lambdaClient } from "./lambda-client.ts";
import { openLambdaZone } from "./lambda-zone.ts";

type Sent = { task: A2aTask };
type Listed = { tasks: A2aTask[]; nextPageToken: string; totalSize: number };

const before = { ...process.env };
const suite = whyNoDynamoDb === undefined ? describe : describe.skip;

suite(`an A2A agent on Lambda${whyNoDynamoDb === undefined ? "" : ` (left out: ${whyNoDynamoDb})`}`, () => {
  let opened: OpenEmulators;
  beforeAll(async () => {
    opened = await openEmulators();
  });
  afterAll(() => opened.close());

  const ending: (() => Promise<void>)[] = [];
  afterEach(async () => {
    for (const end of ending.splice(0).reverse()) await end();
    process.env = { ...before };
    jest.restoreAllMocks();
  });

  async function start({ a2a = {} }: { a2a?: object } = {}) {
    const execution = { syncBudgetMs: 20_000, leaseMs: 500, a2a: { url: "https://agents.example/", ...a2a } };
    const zone = await openLambdaZone({ opened, execution });
    const worker = zone.workOnAll();
    ending.push(worker.end);
    return { ...zone, client: lambdaClient(zone), other: lambdaClient({ ...zone, role: "another-client" }) };
  }
  type Client = Awaited<ReturnType<typeof start>>["client"];

  async function send(client: Client, text: string, { configuration = {}, ...more }: Record<string, unknown> = {}) {
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

  it("answers a message at once, also of a client that would wait, and later tells what came of it", async () => {
    const { client } = await start();
    const task = await send(client, "slow 1s, 関所 🏯");
    expect(task.status.state).toMatch(/SUBMITTED|WORKING/);
    await comesTo(client, task, "TASK_STATE_COMPLETED");
    expect(JSON.stringify((await client.result("GetTask", { id: task.id })).artifacts)).toContain("関所 🏯");
    const old = { kind: "message", messageId: "m-of-0.3", role: "user", parts: [{ kind: "text", text: "slow 1s" }] };
    expect(await client.result("message/send", { message: old, configuration: { blocking: true } }, "")).toMatchObject({
      kind: "task",
      status: { state: expect.stringMatching(/submitted|working/) },
    });
  });

  it("refuses a stream at once, before anything is begun", async () => {
    const { client } = await start();
    const message = userMessage("slow 60s");
    for (const [method, params] of [
      ["SendStreamingMessage", { message }],
      ["SubscribeToTask", { id: "of-any-task" }],
    ] as const)
      expect((await client.ask(method, params)).error?.code).toBe(-32004);
    expect((await client.result<Listed>("ListTasks")).tasks).toEqual([]);
  });

  it("tells of a task to nobody but the client that sent it", async () => {
    const { client, other } = await start();
    const task = await send(client, "hello");
    for (const method of ["GetTask", "CancelTask"])
      expect((await other.ask(method, { id: task.id })).error?.code).toBe(-32001);
    expect((await other.ask("SendMessage", { message: userMessage("me, too", { taskId: task.id }) })).error?.code).toBe(
      -32001,
    );
  });

  it("lists a caller's own tasks page by page, by the table's index", async () => {
    const { client, other } = await start();
    const first = await sendAndFinish(client, "first");
    const second = await sendAndFinish(client, "second");
    const foreign = await sendAndFinish(other, "of another role");
    const page = await client.result<Listed>("ListTasks", { pageSize: 1 });
    expect([page.tasks.map(({ id }) => id), page.totalSize]).toEqual([[second.id], 2]);
    const rest = await client.result<Listed>("ListTasks", { pageSize: 1, pageToken: page.nextPageToken });
    expect([rest.tasks.map(({ id }) => id), rest.nextPageToken]).toEqual([[first.id], ""]);
    expect((await other.result<Listed>("ListTasks")).tasks.map(({ id }) => id)).toEqual([foreign.id]);
  });

  it("cancels a task whose agent is at work in the worker, and stops the agent", async () => {
    const { client } = await start();
    const task = await send(client, "slow 60s");
    await comesTo(client, task, "TASK_STATE_WORKING");
    for (const _ of [1, 2])
      expect((await client.result("CancelTask", { id: task.id })).status.state).toBe("TASK_STATE_CANCELED");
    // The worker ends with the test, which the agent's minute would hold up.
  });

  it("goes on with a task when its question is answered: the worker runs again", async () => {
    const { client } = await start();
    const asked = await send(client, "ask me");
    await comesTo(client, asked, "TASK_STATE_INPUT_REQUIRED");
    const answered = await send(client, "as you like", { taskId: asked.id });
    expect(answered.id).toBe(asked.id);
    await comesTo(client, asked, "TASK_STATE_COMPLETED");
    const done = await client.result("GetTask", { id: asked.id });
    expect(JSON.stringify(done.artifacts)).toContain("Shall I go on? as you like");
  });

  it("tells a receiver by way of the worker, and again where the receiver was away", async () => {
    jest.spyOn(Math, "random").mockReturnValue(0);
    const receiver = await startReceiver({ answers: [503, 503] });
    ending.push(receiver.close);
    const { client, deadLetters } = await start({ a2a: { push: { allowLoopback: true } } });
    const { url, received } = receiver;
    const authentication = { scheme: "Bearer", credentials: secrets.credentials };
    const taskPushNotificationConfig = { url, token: secrets.token, authentication };
    const task = await send(client, "hello", { configuration: { taskPushNotificationConfig } });
    await eventually(() => received.length > 2 && statesOf(received).at(-1) === "TASK_STATE_COMPLETED");
    expect(received.at(-1)?.json).toEqual({ task: await client.result("GetTask", { id: task.id }) });
    expect(received.at(-1)?.headers.get("authorization")).toBe(`Bearer ${secrets.credentials}`);
    const asked = await send(client, "ask me", { configuration: { taskPushNotificationConfig } });
    await eventually(() => statesOf(received).at(-1) === "TASK_STATE_INPUT_REQUIRED");
    await client.result("CancelTask", { id: asked.id });
    await eventually(() => statesOf(received).at(-1) === "TASK_STATE_CANCELED");
    expect(await deadLetters()).toEqual([]);
  });
});
