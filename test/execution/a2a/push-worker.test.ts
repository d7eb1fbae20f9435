/** The Execution worker's queue on AWS, which carries tasks to be run and notices of what became of them. */
import { afterEach, describe, expect, it } from "@jest/globals";
import { handleExecutionBatches } from "../../../lambdas/execution/handlers/worker-handler.ts";
import { createExecutionWorker } from "../../../lambdas/execution/runs/execution-worker.ts";
import { encodeExecutionMessage } from "../../../lambdas/execution/tasks/task-message.ts";
import { createLog } from "../../../lambdas/shared/log.ts";
import { answering } from "../test-host.ts";
import { configOf, createPushZone, memoryQueue, principal, startReceiver, statesOf } from "./push-zone.ts";

const toClose: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of toClose.splice(0)) await close();
});

const context = { getRemainingTimeInMillis: () => 900_000 };

function sqsEvent(bodies: readonly string[]) {
  return { Records: bodies.map((body, index) => ({ messageId: `m${index}`, body })) };
}

/** One queue for both kinds of messages, and a handler that takes a batch of all that waits in it. */
async function startWorker({ answers, delivers = true }: { answers?: number[]; delivers?: boolean } = {}) {
  const receiver = await startReceiver(answers && { answers });
  toClose.push(receiver.close);
  const { queue, sent } = memoryQueue();
  const { store, tasks, begin, delivery } = createPushZone({ queue });
  const lines: string[] = [];
  const log = createLog({ service: "execution", write: (line) => lines.push(line) });
  const worker = createExecutionWorker({ agent: answering("done"), store, notifications: queue, log });
  const handler = handleExecutionBatches({ worker, ...(delivers && { delivery }), log });
  const handleAll = async () => handler(sqsEvent(sent.splice(0).map(({ body }) => body)), context);
  return { ...receiver, tasks, begin, sent, store, handleAll, lines };
}

describe("a worker on one queue", () => {
  it("runs a task, and then delivers what it has to tell of it", async () => {
    const { begin, url, received, sent, store, handleAll, tasks } = await startWorker();
    const { id: taskId } = await begin({ pushConfigs: [configOf({ url })] });
    sent.splice(0);
    await tasks.update({
      ...{ principal, taskId },
      change: ({ outcome: _none, ...task }) => ({ ...task, state: "submitted", params: { text: "hello" } }),
    });
    sent.splice(0, sent.length, { body: encodeExecutionMessage({ taskId }), delayMs: 0 });
    expect(await handleAll()).toEqual({ batchItemFailures: [] });
    expect((await store.get({ id: taskId }))?.state).toBe("completed");
    expect(received).toEqual([]);
    expect(await handleAll()).toEqual({ batchItemFailures: [] });
    expect(statesOf(received)).toEqual(["TASK_STATE_COMPLETED"]);
    expect(sent).toEqual([]);
  });

  it("queues another try with a delay, and finishes the message", async () => {
    const { begin, url, received, sent, handleAll } = await startWorker({ answers: [503] });
    await begin({ pushConfigs: [configOf({ url })] });
    expect(await handleAll()).toEqual({ batchItemFailures: [] });
    expect(sent.map(({ body, delayMs }) => [JSON.parse(body).push.attempt, delayMs])).toEqual([[1, 50]]);
    await handleAll();
    expect(received).toHaveLength(2);
  });

  it("that delivers nothing fails a notice, so that it is not lost", async () => {
    const { begin, url, received, handleAll, lines } = await startWorker({ delivers: false });
    await begin({ pushConfigs: [configOf({ url })] });
    expect(await handleAll()).toEqual({ batchItemFailures: [{ itemIdentifier: "m0" }, { itemIdentifier: "m1" }] });
    expect(received).toEqual([]);
    expect(lines.join("")).not.toContain("hunter2");
  });
});
