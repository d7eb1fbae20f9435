/** Which changes of a task are notified, also of tasks that nobody reads, and that a dead queue changes nothing of the task. */
import { describe, expect, it } from "@jest/globals";
import type { Agent } from "@sekisho/execution/agents/agent.ts";
import { createExecutionWorker } from "@sekisho/execution/execution-worker.ts";
import type { ExecutionTask } from "@sekisho/execution/tasks/execution-task.ts";
import { encodeExecutionMessage } from "@sekisho/execution/tasks/task-message.ts";
import type { TaskQueue } from "@sekisho/runtime/engine/ports.ts";
import { readTraceId } from "@sekisho/runtime/telemetry/telemetry.ts";
import { recordOf } from "../tasks/records.ts";
import { answering, createGate, yielding } from "../test-host.ts";
import {
  configOf,
  createPushZone,
  memoryQueue,
  principal,
  secrets,
  startReceiver,
  statesOf,
  zoneWithReceiver,
} from "./push-zone.ts";

const toHook = configOf({ url: "https://client.example/hook?key=hunter2-query" });

/** The queued notifications: which configuration gets which change, identified by its time. */
function noticesOf(sentMessages: readonly { body: string }[]) {
  return sentMessages.map(
    ({ body }) =>
      JSON.parse(body).push as { taskId: string; configId: string; changedAtMs: number },
  );
}

const askingOnce: Agent = async function* ({ answers }) {
  yield { type: "progress", text: "hm" };
  yield { type: "progress", text: "hm, hm" };
  if (answers.length === 0) yield { type: "question", prompt: "Really?" };
  else yield { type: "answer", text: "done" };
};

describe("the notifications of a task", () => {
  it("queues notices when a task starts and ends but not for its progress", async () => {
    const { queue, sent } = memoryQueue();
    const zone = createPushZone({
      queue,
      agent: yielding({ type: "progress", text: "hm" }, { type: "answer", text: "done" }),
    });
    const task = await zone.begin({ pushConfigs: [toHook, { ...toHook, id: "c2" }] });
    const notices = noticesOf(sent);
    expect(notices.map(({ taskId, configId }) => [taskId, configId])).toEqual(
      ["c1", "c2", "c1", "c2"].map((configId) => [task.id, configId]),
    );
    expect(notices.at(-1)?.changedAtMs).toBe(task.changedAtMs);
  });

  it("queues notices when a task asks, when it is answered, and when it ends", async () => {
    const { queue, sent } = memoryQueue();
    const zone = createPushZone({ queue, agent: askingOnce });
    const task = await zone.begin({ pushConfigs: [toHook] });
    expect(task.state).toBe("input_required");
    expect(sent).toHaveLength(2);
    const answerChange = { id: "m2", fingerprint: "f2", text: "yes" };
    await zone.tasks.answer({ principal, taskId: task.id, answer: answerChange });
    await zone.running.waitForEnd(task.id);
    expect(sent).toHaveLength(4);
  });

  it("queues one notice when a task is canceled twice", async () => {
    const { queue, sent } = memoryQueue();
    const zone = createPushZone({ queue, agent: askingOnce });
    const { id: taskId } = await zone.begin({ pushConfigs: [toHook] });
    const sentCount = sent.length;
    await zone.tasks.cancel({ principal, taskId });
    await zone.tasks.cancel({ principal, taskId });
    expect(sent).toHaveLength(sentCount + 1);
  });

  it("queues nothing for a task without push configurations", async () => {
    const { queue, sent } = memoryQueue();
    await createPushZone({ queue }).begin();
    expect(sent).toEqual([]);
  });
});

describe("a notification", () => {
  it("puts neither the URL nor a secret of the configuration into notices and logs", async () => {
    const { queue, sent } = memoryQueue();
    const { lines, begin } = createPushZone({ queue });
    await begin({ pushConfigs: [toHook] });
    const loggedText = JSON.stringify(sent) + lines.join("");
    for (const secret of [secrets.token, secrets.credentials, "hunter2", "client.example"]) {
      expect(loggedText).not.toContain(secret);
    }
  });

  it("sends a notice again after one failed attempt to queue it", async () => {
    const { queue, sent } = memoryQueue();
    let failures = 0;
    const flaky: TaskQueue = {
      async send(message) {
        if ("look" in JSON.parse(message.body)) return;
        failures += 1;
        if (failures % 2 === 1) throw new Error("hunter2");
        await queue.send(message);
      },
    };
    await createPushZone({ queue: flaky }).begin({ pushConfigs: [toHook] });
    expect(sent).toHaveLength(2);
  });

  it.each<[string, TaskQueue["send"]]>([
    ["rejects", () => Promise.reject(new Error("hunter2"))],
    [
      "throws",
      () => {
        throw new Error("hunter2");
      },
    ],
    ["never responds", () => new Promise(() => {})],
  ])(
    "logs a lost notification if the queue %s, and ends the task as usual",
    async (_what, send) => {
      const { lines, begin } = createPushZone({ queue: { send }, agent: answering("done") });
      const task = await begin({ pushConfigs: [toHook] });
      expect(task.state).toBe("completed");
      const lostPushes = lines
        .map((line) => JSON.parse(line))
        .filter(({ message }) => message === "push_not_queued");
      const lostStates = lostPushes.map(({ task_id, state }) => [task_id, state]);
      expect([...new Set(lostStates.map((each) => each.join(" ")))]).toEqual(
        ["submitted", "working", "completed"].map((state) => `${task.id} ${state}`),
      );
      expect(new Set(lostPushes.map(({ trace_id }) => trace_id))).toEqual(
        new Set([readTraceId(task.trace)]),
      );
      expect(lines.join("")).not.toContain("hunter2");
    },
  );
});

const signal = new AbortController().signal;

const asking: Agent = async function* ({ answers }) {
  if (answers.length === 0) yield { type: "question", prompt: "Really?" };
  else yield { type: "answer", text: "done" };
};

/** A zone whose task waits with a question, all notifications sent. */
async function zoneThatAsks() {
  const zone = await zoneWithReceiver({ agent: asking, config: { registrationId: "r1" } });
  await zone.deliverAll();
  zone.received.splice(0);
  const { id: taskId } = zone.task;
  return {
    ...zone,
    update: (change: (task: ExecutionTask) => ExecutionTask) =>
      zone.tasks.update({ principal, taskId, change }),
    /** Handles the latest look at the task as it stands, and all that comes of it but further looks. */
    async look(): Promise<unknown> {
      await zone.delivery.handle({ body: zone.looks.splice(0).at(-1)?.body ?? "", signal });
      await zone.running.waitForEnd(taskId);
      await zone.deliverAll();
      return statesOf(zone.received);
    },
  };
}

const withoutTime = ({ question, ...task }: ExecutionTask): ExecutionTask =>
  question === undefined ? task : { ...task, question: { ...question, expiresAtMs: 0 } };

const dead = { owner: "dead", untilMs: Date.now() - 60_000 };

describe("a task that nobody reads", () => {
  it("fails a task when its question expires, not at its deadline, and notifies the receiver", async () => {
    const { update, look, looks } = await zoneThatAsks();
    await update((task) => ({ ...task, deadlineAtMs: 0 }));
    expect(looks.at(-1)?.delayMs).toBeGreaterThan(50_000);
    expect(await look()).toEqual([]);
    await update(withoutTime);
    expect(await look()).toEqual(["TASK_STATE_FAILED"]);
  });

  it("continues an answered task that no process has continued", async () => {
    const { update, look } = await zoneThatAsks();
    const answers = [{ id: "m2", fingerprint: "f2", prompt: "Really?", text: "yes" }];
    await update(({ question: _question, ...task }) => ({ ...task, state: "working", answers }));
    expect(await look()).toEqual(["TASK_STATE_COMPLETED"]);
  });

  it("starts a task whose first process stopped before it started the task", async () => {
    const { url, received } = await startReceiver();
    const { queue, looks, sent } = memoryQueue();
    const first = createPushZone({ queue });
    await first.running.stopAll({ graceMs: 0, settleMs: 0 });
    const { id, state } = await first.begin({ pushConfigs: [configOf({ url })] });
    expect([state, sent.length]).toEqual(["submitted", 0]);
    const second = createPushZone({ queue, store: first.store });
    await second.delivery.handle({ body: looks.splice(0)[0]?.body ?? "", signal });
    await second.running.waitForEnd(id);
    for (const { body } of sent.splice(0)) await second.delivery.handle({ body, signal });
    expect(statesOf(received)).toEqual(["TASK_STATE_COMPLETED"]);
  });

  it("queues the wake-up before the task is created, so that a crash in between loses nothing", async () => {
    const { queue, looks } = memoryQueue();
    const zone = createPushZone({ queue });
    const create = zone.store.create;
    zone.store.create = async (request) => {
      expect(looks).toHaveLength(1);
      return create(request);
    };
    await zone.begin({ pushConfigs: [configOf({ url: "https://client.example/" })] });
    expect.assertions(1);
  });
});

describe("a check of an unchanged task", () => {
  it("schedules the next wake-up for when the question or the lease expires", async () => {
    const { look, looks, task, update } = await zoneThatAsks();
    expect(await look()).toEqual([]);
    expect(looks[0]?.delayMs).toBeGreaterThan(
      (task.question?.expiresAtMs ?? 0) - Date.now() - 1000,
    );
    const lease = { owner: "busy", untilMs: Date.now() + 20_000 };
    await update(({ question: _question, ...record }) => ({ ...record, state: "working", lease }));
    await look();
    expect(looks[0]?.delayMs).toBeGreaterThan(20_000);
    expect(looks[0]?.delayMs).toBeLessThanOrEqual(25_000);
  });

  it.each<[string, (zone: Awaited<ReturnType<typeof zoneThatAsks>>) => Promise<unknown>]>([
    ["the task has ended", ({ tasks, task }) => tasks.cancel({ principal, taskId: task.id })],
    [
      "its configuration was deleted",
      ({ configs, task }) => configs.delete({ principal, params: { taskId: task.id, id: "c1" } }),
    ],
    [
      "its configuration was replaced",
      ({ configs, task, url }) =>
        configs.create({ principal, params: { taskId: task.id, id: "c1", url }, version: "1.0" }),
    ],
    [
      "the task left the state and entered it again",
      async ({ tasks, task, running }) => {
        await tasks.answer({
          principal,
          taskId: task.id,
          answer: { id: "m2", fingerprint: "f", text: "yes" },
        });
        await running.waitForEnd(task.id);
      },
    ],
  ])("schedules no further wake-up when %s", async (_what, change) => {
    const zone = await zoneThatAsks();
    const [old] = zone.looks.splice(0).slice(-1);
    await change(zone);
    zone.looks.splice(0);
    await zone.delivery.handle({ body: old?.body ?? "", signal });
    expect(zone.looks).toEqual([]);
  });

  it("schedules another wake-up when the store is unavailable", async () => {
    const { look, looks, store, update } = await zoneThatAsks();
    await update(withoutTime);
    const { replace } = store;
    store.replace = () => Promise.reject(new Error("away"));
    await look().catch(() => {});
    store.replace = replace;
    expect(looks).toHaveLength(1);
    expect(await look()).toEqual(["TASK_STATE_FAILED"]);
  });
});

it("schedules wake-ups for a configuration that is registered while the task runs", async () => {
  const { queue, looks } = memoryQueue();
  const gate = createGate();
  const zone = createPushZone({ queue, agent: gate.agent });
  const beginning = zone.begin();
  await gate.firstStart;
  const taskId = JSON.parse(zone.lines[0] ?? "").task_id;
  const params = { taskId, id: "c1", url: "https://client.example/" };
  await zone.configs.create({ principal, params, version: "1.0" });
  expect(looks.map(({ body }) => JSON.parse(body).look)).toEqual([
    expect.objectContaining({ taskId, configId: "c1", registrationId: "new-id", state: "working" }),
  ]);
  gate.letGo();
  await beginning;
});

describe("the Execution worker", () => {
  const look = {
    taskId: recordOf().id,
    configId: "c1",
    state: "working" as const,
    changedAtMs: recordOf().changedAtMs,
  };
  const a2a = {
    contextId: "c",
    messages: [],
    pushConfigs: [configOf({ url: "https://client.example/" })],
  };
  const times = { expiresAtMs: Date.now() + 60_000, params: { text: "hi" }, a2a };

  async function workerWith(more: Partial<ExecutionTask>) {
    const { queue, sent, looks } = memoryQueue();
    const { store } = createPushZone({ queue });
    await store.create({ item: recordOf({ ...times, ...more }) });
    const worker = createExecutionWorker({ agent: answering("done"), store, notifications: queue });
    await worker.look(look);
    return { sent, looks, task: await store.get({ id: look.taskId }) };
  }

  it("gives up a lost task and queues a notice of the failure", async () => {
    const { task, sent, looks } = await workerWith({ lease: dead });
    expect(task).toMatchObject({ state: "failed", outcome: { lost: true } });
    expect(sent.map(({ body }) => JSON.parse(body).push?.state)).toEqual(["failed"]);
    expect(looks).toEqual([]);
  });

  it("queues a task that no process has started, and schedules another wake-up", async () => {
    const { sent, looks } = await workerWith({});
    expect(sent.map(({ body }) => body)).toEqual([encodeExecutionMessage({ taskId: look.taskId })]);
    expect(looks).toHaveLength(1);
  });
});
