/** The Execution worker's handler over batches of SQS. */

import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, describe, expect, it, jest } from "@jest/globals";
import { SekishoError } from "@sekisho/contracts/errors.ts";
import type { Agent } from "@sekisho/execution/agents/agent.ts";
import { createEchoAgent } from "@sekisho/execution/agents/echo.ts";
import {
  createExecutionWorker,
  type ExecutionWorker,
} from "@sekisho/execution/execution-worker.ts";
import { handleExecutionBatches } from "@sekisho/execution/handlers/worker-handler.ts";
import { encodeExecutionMessage } from "@sekisho/execution/tasks/task-message.ts";
import { NewerRecordError } from "@sekisho/runtime/engine/record-version.ts";
import { silentLog } from "@sekisho/runtime/log.ts";
import { createSqsEvent } from "../../doubles/aws/sqs-event.ts";
import { collectLog } from "../../doubles/collect-log.ts";
import {
  configOf,
  createPushZone,
  memoryQueue,
  principal,
  startReceiver,
  statesOf,
} from "../a2a/push-zone.ts";
import { createQueuedHost } from "../runs/queued-host.ts";
import { answering, hello, memoryStore } from "../test-host.ts";

afterEach(() => void jest.useRealTimers());

const context = { getRemainingTimeInMillis: () => 900_000 };
const taskOf = (taskId: string) => JSON.stringify({ taskId });

/** The tasks of these texts, as a host left them in its store and queue. */
async function submitTasks({ texts, agent }: { texts: string[]; agent: Agent }) {
  const store = memoryStore();
  const host = createQueuedHost({ store, syncBudgetMs: 0 });
  for (const text of texts) await host.call("execute_task", { ...hello, text });
  const { lines, log } = collectLog({ service: "execution" });
  const worker = createExecutionWorker({ store, agent, log });
  const stateOf = async (body: string) => (await store.get({ id: JSON.parse(body).taskId }))?.state;
  return {
    bodies: host.sent,
    handler: handleExecutionBatches({ worker, log }),
    store,
    lines,
    stateOf,
  };
}

describe("a batch", () => {
  it("ends a batch when all of its tasks have ended, including a failed one", async () => {
    const { bodies, handler, stateOf } = await submitTasks({
      texts: ["a", "slow 50ms", "fail"],
      agent: createEchoAgent(),
    });
    expect(await handler(createSqsEvent(bodies), context)).toEqual({ batchItemFailures: [] });
    const states = await Promise.all(bodies.map(stateOf));
    expect(states).toEqual(["completed", "completed", "failed"]);
  });

  it.each([
    ["read", "get", 2],
    // A claim is written twice before the start fails.
    ["claim", "replace", 4],
  ] as const)(
    "tries again to %s a task when the store fails at first",
    async (_what, call, failures) => {
      const { bodies, store, stateOf } = await submitTasks({
        texts: ["a"],
        agent: createEchoAgent(),
      });
      let calls = 0;
      const flaky = {
        ...store,
        async [call](request: never) {
          calls += 1;
          if (calls <= failures) throw new Error("throttled");
          return store[call](request);
        },
      };
      const worker = createExecutionWorker({
        store: flaky,
        agent: createEchoAgent(),
        log: silentLog,
        random: () => 0,
      });
      const handler = handleExecutionBatches({ worker, log: silentLog });
      expect(await handler(createSqsEvent(bodies), context)).toEqual({ batchItemFailures: [] });
      expect(await stateOf(bodies[0] ?? "")).toBe("completed");
    },
  );

  it("reports exactly the failed records of a batch", async () => {
    const worker: ExecutionWorker = {
      async run({ taskId }) {
        if (taskId === "bad") throw new Error("hunter2");
      },
      look: async () => {},
      vote: async () => {},
    };
    const { lines, log } = collectLog({ service: "execution" });
    const event = createSqsEvent([
      taskOf("good"),
      taskOf("bad"),
      "hunter2 is no JSON",
      '{"taskId":7}',
      taskOf("good"),
    ]);
    expect(await handleExecutionBatches({ worker, log })(event, context)).toEqual({
      batchItemFailures: ["m1", "m2", "m3"].map((itemIdentifier) => ({ itemIdentifier })),
    });
    expect(lines).toHaveLength(3);
    expect(lines.join("")).not.toContain("hunter2");
  });

  it("defers messages that a newer version wrote and fails malformed ones", async () => {
    const sentMessages: { body: string; delayMs?: number }[] = [];
    const queue = {
      send: async (request: (typeof sentMessages)[number]) => void sentMessages.push(request),
    };
    const worker: ExecutionWorker = {
      async run({ taskId }) {
        if (taskId === "newer")
          throw new SekishoError("unavailable", { cause: new NewerRecordError() });
      },
      look: async () => {},
      vote: async () => {},
    };
    const { log } = collectLog({ service: "execution" });
    const event = createSqsEvent([
      taskOf("newer"),
      '{"later":{"taskId":"t"}}',
      '{"taskId":7}',
      "no JSON",
    ]);
    expect(
      await handleExecutionBatches({ worker, queue, log, now: () => 1 })(event, context),
    ).toEqual({
      batchItemFailures: ["m2", "m3"].map((itemIdentifier) => ({ itemIdentifier })),
    });
    const leftMessages = sentMessages.map(({ body, delayMs }) => ({
      delayMs,
      ...JSON.parse(body),
    }));
    expect(leftMessages).toContainEqual({ taskId: "newer", leftSinceMs: 1, delayMs: 5000 });
    expect(leftMessages).toContainEqual({ later: { taskId: "t" }, leftSinceMs: 1, delayMs: 5000 });
    expect(leftMessages).toHaveLength(2);
  });

  it("aborts its tasks 20 seconds before the function ends, and not earlier", async () => {
    jest.useFakeTimers();
    const signals: AbortSignal[] = [];
    const worker: ExecutionWorker = {
      async run({ signal }) {
        signals.push(signal);
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
      },
      look: async () => {},
      vote: async () => {},
    };
    const handling = handleExecutionBatches({ worker, log: silentLog })(
      createSqsEvent([taskOf("a")]),
      context,
    );
    const isStopped = () => signals.map(({ aborted }) => aborted);
    jest.advanceTimersByTime(879_999);
    expect(isStopped()).toEqual([false]);
    jest.advanceTimersByTime(1);
    expect(isStopped()).toEqual([true]);
    jest.useRealTimers();
    await handling;
  });

  it("leaves no timer that could abort the next batch", async () => {
    const signals: AbortSignal[] = [];
    const worker: ExecutionWorker = {
      run: async ({ signal }) => void signals.push(signal),
      look: async () => {},
      vote: async () => {},
    };
    await handleExecutionBatches({ worker, log: silentLog })(createSqsEvent([taskOf("a")]), {
      getRemainingTimeInMillis: () => 20_010,
    });
    await sleep(30);
    expect(signals[0]?.aborted).toBe(false);
  });
});

/** One queue for both kinds of messages, and a handler that takes a batch of all that waits in it. */
async function startWorker({
  answers,
  delivers = true,
}: {
  answers?: number[];
  delivers?: boolean;
} = {}) {
  const receiver = await startReceiver(answers && { answers });
  const { queue, sent } = memoryQueue();
  const { store, tasks, begin, delivery } = createPushZone({ queue });
  const { lines, log } = collectLog({ service: "execution" });
  const worker = createExecutionWorker({
    agent: answering("done"),
    store,
    notifications: queue,
    log,
  });
  const handler = handleExecutionBatches({ worker, ...(delivers && { delivery }), log });
  const handleAll = async () =>
    handler(createSqsEvent(sent.splice(0).map(({ body }) => body)), context);
  return { ...receiver, tasks, begin, sent, store, handleAll, lines };
}

describe("a worker on one queue", () => {
  it("runs a task and delivers its push notices from the same queue", async () => {
    const { begin, url, received, sent, store, handleAll, tasks } = await startWorker();
    const { id: taskId } = await begin({ pushConfigs: [configOf({ url })] });
    sent.splice(0);
    await tasks.update({
      ...{ principal, taskId },
      change: ({ outcome: _none, ...task }) => ({
        ...task,
        state: "submitted",
        params: { text: "hello" },
      }),
    });
    sent.splice(0, sent.length, { body: encodeExecutionMessage({ taskId }), delayMs: 0 });
    expect(await handleAll()).toEqual({ batchItemFailures: [] });
    expect((await store.get({ id: taskId }))?.state).toBe("completed");
    expect(received).toEqual([]);
    expect(await handleAll()).toEqual({ batchItemFailures: [] });
    expect(statesOf(received)).toEqual(["TASK_STATE_COMPLETED"]);
    expect(sent).toEqual([]);
  });

  it("fails a notice when the worker delivers nothing, so that the notice is not lost", async () => {
    const { begin, url, received, handleAll, lines } = await startWorker({ delivers: false });
    await begin({ pushConfigs: [configOf({ url })] });
    expect(await handleAll()).toEqual({
      batchItemFailures: [{ itemIdentifier: "m0" }, { itemIdentifier: "m1" }],
    });
    expect(received).toEqual([]);
    expect(lines.join("")).not.toContain("hunter2");
  });
});
