/** The Execution worker's handler over batches of SQS. */
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "@jest/globals";
import type { Agent } from "../../../lambdas/execution/agents/agent.ts";
import { createEchoAgent } from "../../../lambdas/execution/agents/echo.ts";
import { handleExecutionBatches } from "../../../lambdas/execution/handlers/worker-handler.ts";
import { createExecutionWorker, type ExecutionWorker } from "../../../lambdas/execution/runs/execution-worker.ts";
import { createLog, silentLog } from "../../../lambdas/shared/log.ts";
import { createQueuedHost } from "../runs/queued-host.ts";
import { createGate, hello, memoryStore } from "../test-host.ts";

/** After the documented example of an SQS event. */
function sqsEvent(...bodies: string[]) {
  const Records = bodies.map((body, index) => ({
    messageId: `059f36b4-87a3-44ab-83d2-66197597000${index}`,
    receiptHandle: "AQEBwJnKyrHigUMZj6rYigCgxlaS3SLy0a...",
    body,
    attributes: { ApproximateReceiveCount: "1", SentTimestamp: "1545082649183", SenderId: "AIDAIENQZJOLO23YVJ4VO" },
    messageAttributes: {},
    md5OfBody: "e4e68fb7bd0e697a0ae8f1bb342846b3",
    eventSource: "aws:sqs",
    eventSourceARN: "arn:aws:sqs:eu-central-1:444455556666:tasks",
    awsRegion: "eu-central-1",
  }));
  return { Records };
}

const idOf = (index: number) => `059f36b4-87a3-44ab-83d2-66197597000${index}`;
const context = { getRemainingTimeInMillis: () => 900_000 };
const taskOf = (taskId: string) => JSON.stringify({ taskId });

/** The tasks of these texts, as a host left them in its store and queue. */
async function submitted({ texts, agent }: { texts: string[]; agent: Agent }) {
  const store = memoryStore();
  const host = createQueuedHost({ store, syncBudgetMs: 0 });
  for (const text of texts) await host.call("execute_task", { ...hello, text });
  await host.close();
  const lines: string[] = [];
  const log = createLog({ service: "execution", write: (line) => lines.push(line) });
  const worker = createExecutionWorker({ store, agent, log });
  const stateOf = async (body: string) => (await store.get({ id: JSON.parse(body).taskId }))?.state;
  return { bodies: host.sent, handler: handleExecutionBatches({ worker, log }), store, lines, stateOf };
}

describe("a batch", () => {
  it("is over when every one of its tasks is, and none failed", async () => {
    const { bodies, handler, stateOf } = await submitted({ texts: ["a", "slow 50ms", "c"], agent: createEchoAgent() });
    expect(await handler(sqsEvent(...bodies), context)).toEqual({ batchItemFailures: [] });
    for (const body of bodies) expect(await stateOf(body)).toBe("completed");
  });

  it("names the records that failed, and only those", async () => {
    const worker: ExecutionWorker = {
      async run({ taskId }) {
        if (taskId === "bad") throw new Error("hunter2");
      },
      look: async () => {},
    };
    const lines: string[] = [];
    const log = createLog({ service: "execution", write: (line) => lines.push(line) });
    const event = sqsEvent(taskOf("good"), taskOf("bad"), "hunter2 is no JSON", '{"taskId":7}', taskOf("good"));
    expect(await handleExecutionBatches({ worker, log })(event, context)).toEqual({
      batchItemFailures: [idOf(1), idOf(2), idOf(3)].map((itemIdentifier) => ({ itemIdentifier })),
    });
    expect(lines).toHaveLength(3);
    expect(lines.join("")).not.toContain("hunter2");
  });

  it("runs a doubled message once", async () => {
    const gate = createGate();
    const { bodies, handler } = await submitted({ texts: ["a"], agent: gate.agent });
    const handled = handler(sqsEvent(...bodies, ...bodies), context);
    await gate.firstStart;
    gate.letGo();
    expect(await handled).toEqual({ batchItemFailures: [] });
    expect(gate.started).toHaveLength(1);
  });

  it("reads a task again where the store does not answer at once", async () => {
    const { bodies, store } = await submitted({ texts: ["a"], agent: createEchoAgent() });
    let reads = 0;
    const flaky = {
      ...store,
      async get(request: { id: string }) {
        reads += 1;
        if (reads <= 2) throw new Error("throttled");
        return store.get(request);
      },
    };
    const worker = createExecutionWorker({ store: flaky, agent: createEchoAgent(), log: silentLog, random: () => 0 });
    const handler = handleExecutionBatches({ worker, log: silentLog });
    expect(await handler(sqsEvent(...bodies), context)).toEqual({ batchItemFailures: [] });
    expect((await store.get({ id: JSON.parse(bodies[0] ?? "").taskId }))?.state).toBe("completed");
  });

  it("of an agent that fails has not failed: the task's outcome is its failure", async () => {
    const { bodies, handler, stateOf } = await submitted({ texts: ["fail"], agent: createEchoAgent() });
    expect(await handler(sqsEvent(...bodies), context)).toEqual({ batchItemFailures: [] });
    expect(await stateOf(bodies[0] ?? "")).toBe("failed");
  });

  it("ends twenty seconds before its function does: agents are stopped and their tasks stored as lost", async () => {
    const gate = createGate({ heedsSignal: false });
    const { bodies, handler, store } = await submitted({ texts: ["a", "b"], agent: gate.agent });
    const answer = await handler(sqsEvent(...bodies), { getRemainingTimeInMillis: () => 20_050 });
    expect(answer).toEqual({ batchItemFailures: [] });
    expect(gate.started.map(({ context: { signal } }) => signal.aborted)).toEqual([true, true]);
    for (const body of bodies) {
      const task = await store.get({ id: JSON.parse(body).taskId });
      expect(task?.outcome).toEqual({ type: "failure", reason: "execution_failed", lost: true });
    }
  });

  it("leaves no timer behind that could stop the next one", async () => {
    const signals: AbortSignal[] = [];
    const worker: ExecutionWorker = {
      run: async ({ signal }) => void signals.push(signal),
      look: async () => {},
    };
    await handleExecutionBatches({ worker, log: silentLog })(sqsEvent(taskOf("a")), {
      getRemainingTimeInMillis: () => 20_010,
    });
    await sleep(30);
    expect(signals[0]?.aborted).toBe(false);
  });
});
