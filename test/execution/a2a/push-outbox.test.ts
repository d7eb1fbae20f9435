/** Which changes of a task are told of, and that a dead queue changes nothing of the task. */
import { describe, expect, it } from "@jest/globals";
import type { Agent } from "../../../lambdas/execution/agents/agent.ts";
import { createExecutionWorker } from "../../../lambdas/execution/runs/execution-worker.ts";
import type { TaskQueue } from "../../../lambdas/shared/engine/ports.ts";
import { readTraceId } from "../../../lambdas/shared/telemetry/telemetry.ts";
import { answering, createGate, yielding } from "../test-host.ts";
import { configOf, createPushZone, memoryQueue, principal, secrets } from "./push-zone.ts";

const toHook = configOf({ url: "https://client.example/hook?key=hunter2-query" });

/** What was queued: which configuration is told of which change, told apart by its moment. */
function noticesOf(sent: readonly { body: string }[]) {
  return sent.map(({ body }) => JSON.parse(body).push as { taskId: string; configId: string; changedAtMs: number });
}

const askingOnce: Agent = async function* ({ answers }) {
  yield { type: "progress", text: "hm" };
  yield { type: "progress", text: "hm, hm" };
  if (answers.length === 0) yield { type: "question", prompt: "Really?" };
  else yield { type: "answer", text: "done" };
};

describe("a notice is queued for each configuration of a task", () => {
  it("when it begins to work and when it ends, and not for its progress", async () => {
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

  it("when it asks, when it is answered, and when it ends thereafter", async () => {
    const { queue, sent } = memoryQueue();
    const zone = createPushZone({ queue, agent: askingOnce });
    const task = await zone.begin({ pushConfigs: [toHook] });
    expect(task.state).toBe("input_required");
    expect(sent).toHaveLength(2);
    const said = { id: "m2", fingerprint: "f2", text: "yes" };
    await zone.tasks.answer({ principal, taskId: task.id, answer: said });
    await zone.running.ended(task.id);
    expect(sent).toHaveLength(4);
  });

  it("when it is canceled, and not when it is canceled again", async () => {
    const { queue, sent } = memoryQueue();
    const zone = createPushZone({ queue, agent: askingOnce });
    const { id: taskId } = await zone.begin({ pushConfigs: [toHook] });
    const before = sent.length;
    await zone.tasks.cancel({ principal, taskId });
    await zone.tasks.cancel({ principal, taskId });
    expect(sent).toHaveLength(before + 1);
  });

  it("by the Execution worker that runs it", async () => {
    const { queue, sent } = memoryQueue();
    const gate = createGate();
    const { store, tasks, begin, running } = createPushZone({ queue, agent: askingOnce });
    const task = await begin({ pushConfigs: [toHook] });
    const paused = await tasks.update({
      ...{ principal, taskId: task.id },
      change: ({ question: _answered, ...record }) => ({ ...record, state: "working" }),
    });
    expect(running.has(paused.id)).toBe(false);
    const before = sent.length;
    const worker = createExecutionWorker({ agent: gate.agent, store, notifications: queue });
    gate.letGo();
    await worker.run({ taskId: task.id, signal: new AbortController().signal });
    expect((await store.get({ id: task.id }))?.state).toBe("completed");
    expect(sent).toHaveLength(before + 1);
  });

  it("and none for a task without one", async () => {
    const { queue, sent } = memoryQueue();
    await createPushZone({ queue }).begin();
    expect(sent).toEqual([]);
  });
});

describe("a notice", () => {
  it("carries ids and times, and nothing of the configuration", async () => {
    const { queue, sent } = memoryQueue();
    const { lines, begin } = createPushZone({ queue });
    await begin({ pushConfigs: [toHook] });
    const told = JSON.stringify(sent) + lines.join("");
    for (const secret of [secrets.token, secrets.credentials, "hunter2", "client.example"]) {
      expect(told).not.toContain(secret);
    }
  });

  it("is queued again where that failed once", async () => {
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
    ["is away", () => Promise.reject(new Error("hunter2"))],
    [
      "throws",
      () => {
        throw new Error("hunter2");
      },
    ],
    ["says nothing", () => new Promise(() => {})],
  ])("that is lost with a queue that %s is logged, and the task ends all the same", async (_what, send) => {
    const { lines, begin } = createPushZone({ queue: { send }, agent: answering("done") });
    const task = await begin({ pushConfigs: [toHook] });
    expect(task.state).toBe("completed");
    const lost = lines.map((line) => JSON.parse(line)).filter(({ message }) => message === "push_not_queued");
    const told = lost.map(({ task_id, state }) => [task_id, state]);
    expect([...new Set(told.map((each) => each.join(" ")))]).toEqual(
      ["submitted", "working", "completed"].map((state) => `${task.id} ${state}`),
    );
    expect(new Set(lost.map(({ trace_id }) => trace_id))).toEqual(new Set([readTraceId(task.trace)]));
    expect(lines.join("")).not.toContain("hunter2");
  });
});
