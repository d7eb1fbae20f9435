/** A2A clients of the Execution zone on Lambda: the Function URL takes what they send, and the worker does it. */
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from "@jest/globals";
import type { A2aTask } from "../../contracts/a2a/task.ts";
import { whyNoDynamoDb } from "../doubles/aws/emulators.ts";
import { type OpenEmulators, openEmulators } from "../doubles/aws/open-emulators.ts";
import { userMessage } from "./host/a2a/a2a-host.ts";
import { secrets, startReceiver, statesOf } from "./host/a2a/push-zone.ts";
import { eventually } from "./host/test-host.ts";
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

  async function start({ syncBudgetMs = 15_000, a2a = {} }: { syncBudgetMs?: number; a2a?: object } = {}) {
    const execution = { syncBudgetMs, leaseMs: 500, a2a: { url: "https://agents.example/", ...a2a } };
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

  function comesTo(client: Client, { id }: { id: string }, state: string): Promise<void> {
    return eventually(async () => (await client.result("GetTask", { id })).status.state === state);
  }

  const atOnce = { configuration: { returnImmediately: true } };

  it("answers a message with the task that the worker has done", async () => {
    const { client } = await start();
    const task = await send(client, "関所 🏯");
    expect(task.status.state).toBe("TASK_STATE_COMPLETED");
    expect(JSON.stringify(task.artifacts)).toContain("関所 🏯");
    const old = { kind: "message", messageId: "m-of-0.3", role: "user", parts: [{ kind: "text", text: "hi" }] };
    expect(await client.result("message/send", { message: old }, "")).toMatchObject({
      kind: "task",
      status: { state: "completed" },
    });
  });

  it("answers at once who does not want to wait, and later tells what came of it, to nobody else", async () => {
    const { client, other } = await start();
    const task = await send(client, "hello", atOnce);
    expect(task.status.state).toBe("TASK_STATE_SUBMITTED");
    await comesTo(client, task, "TASK_STATE_COMPLETED");
    for (const method of ["GetTask", "CancelTask"])
      expect((await other.ask(method, { id: task.id })).error?.code).toBe(-32001);
    expect((await other.ask("SendMessage", { message: userMessage("me, too", { taskId: task.id }) })).error?.code).toBe(
      -32001,
    );
  });

  it("lists a caller's own tasks page by page, by the table's index", async () => {
    const { client, other } = await start();
    const first = await send(client, "first");
    const second = await send(client, "second");
    const foreign = await send(other, "of another role");
    const page = await client.result<Listed>("ListTasks", { pageSize: 1 });
    expect([page.tasks.map(({ id }) => id), page.totalSize]).toEqual([[second.id], 2]);
    const rest = await client.result<Listed>("ListTasks", { pageSize: 1, pageToken: page.nextPageToken });
    expect([rest.tasks.map(({ id }) => id), rest.nextPageToken]).toEqual([[first.id], ""]);
    expect((await other.result<Listed>("ListTasks")).tasks.map(({ id }) => id)).toEqual([foreign.id]);
  });

  it("cancels a task whose agent is at work in the worker, and stops the agent", async () => {
    const { client } = await start();
    const task = await send(client, "slow 60s", atOnce);
    await comesTo(client, task, "TASK_STATE_WORKING");
    for (const _ of [1, 2])
      expect((await client.result("CancelTask", { id: task.id })).status.state).toBe("TASK_STATE_CANCELED");
    // The worker ends with the test, which the agent's minute would hold up.
  });

  it("goes on with a task when its question is answered: the worker runs again", async () => {
    const { client } = await start();
    const asked = await send(client, "ask me");
    expect(asked.status.state).toBe("TASK_STATE_INPUT_REQUIRED");
    const done = await send(client, "as you like", { taskId: asked.id });
    expect([done.id, done.status.state]).toEqual([asked.id, "TASK_STATE_COMPLETED"]);
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

  it("shows the working task where the budget is over before the agent is", async () => {
    const { client } = await start({ syncBudgetMs: 0 });
    const task = await send(client, "slow 300ms");
    expect(task.status.state).toMatch(/SUBMITTED|WORKING/);
    await comesTo(client, task, "TASK_STATE_COMPLETED");
  });
});
