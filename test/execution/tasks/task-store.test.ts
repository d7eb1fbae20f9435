/** Following one task by its records, where it runs here and where it runs elsewhere. */
import { describe, expect, it } from "@jest/globals";
import type { ExecutionTask } from "@sekisho/execution/tasks/execution-task.ts";
import { createTaskSignal, watchTask } from "@sekisho/execution/tasks/task-store.ts";

const first: ExecutionTask = {
  id: "t",
  revision: 1,
  state: "submitted",
  principal: "p",
  requestId: "r",
  correlationId: "r",
  fingerprint: "",
  trace: { traceparent: "" },
  createdAtMs: 0,
  changedAtMs: 0,
  deadlineAtMs: 1,
  expiresAtMs: 2,
};
const at = (revision: number, over: Partial<ExecutionTask> = {}) => ({
  ...first,
  revision,
  ...over,
});
const working = at(2, { state: "working" });
const doneTask = at(5, { state: "completed" });

function watching({
  runsHere = true,
  stored: readStored = () => first as ExecutionTask,
  isStopped = (): boolean => false,
} = {}) {
  const changeSignal = createTaskSignal();
  const abort = new AbortController();
  const rereadTask = async () => readStored();
  const signal = abort.signal;
  const records = watchTask({
    task: first,
    changeSignal,
    isRunningHere: () => runsHere,
    isStopped,
    rereadTask,
    signal,
  });
  return { changeSignal, abort, records };
}

async function revisionsOf(records: AsyncIterable<ExecutionTask>): Promise<number[]> {
  const revisions: number[] = [];
  for await (const { revision } of records) revisions.push(revision);
  return revisions;
}

describe("a watched task", () => {
  it("shows the records of a task in order to a fast reader and ends with the last one", async () => {
    const { changeSignal, records } = watching();
    const revisions = [(await records.next()).value?.revision];
    for (const record of [working, at(3), doneTask]) {
      const next = records.next();
      // What the first look at the store finds comes before anything else.
      await new Promise(setImmediate);
      changeSignal.ring(record);
      revisions.push((await next).value?.revision);
    }
    expect(revisions).toEqual([1, 2, 3, 5]);
    expect(await records.next()).toEqual({ value: undefined, done: true });
  });

  it("shows only the newest record between two reads, and nothing older after it", async () => {
    const { changeSignal, records } = watching();
    await records.next();
    for (const record of [at(3), working, doneTask]) changeSignal.ring(record);
    expect(await revisionsOf(records)).toEqual([5]);
  });

  it("reads the store repeatedly for a task that runs elsewhere", async () => {
    const records = [working, at(3), doneTask];
    expect(
      await revisionsOf(
        watching({ runsHere: false, stored: () => records.shift() ?? doneTask }).records,
      ),
    ).toEqual([1, 2, 3, 5]);
  });

  it("reads the store once for a task that runs here", async () => {
    expect(await revisionsOf(watching({ stored: () => doneTask }).records)).toEqual([1, 5]);
  });

  it("ends with the question of a task", async () => {
    const asking = at(4, { state: "input_required", question: { prompt: "?", messageId: "m" } });
    expect(await revisionsOf(watching({ stored: () => asking }).records)).toEqual([1, 4]);
  });

  it("ends when the reader leaves and when the host stops", async () => {
    const { abort, records } = watching();
    await records.next();
    const next = records.next();
    abort.abort();
    expect(await next).toEqual({ value: undefined, done: true });
    expect(await revisionsOf(watching({ isStopped: () => true }).records)).toEqual([1]);
  });
});
