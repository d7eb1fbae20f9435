/** Stored tasks: listings merged into one, waiting for an end, and retries. */
import { describe, expect, it } from "@jest/globals";
import { waitForEnd } from "@sekisho/sekisho/tasks/cancel-task.ts";
import { sendRetry } from "@sekisho/sekisho/tasks/retry-task.ts";
import {
  mergeOldestFirst,
  type StoredTask,
  type TaskZone,
} from "@sekisho/sekisho/tasks/stored-task.ts";
import type { Task } from "@sekisho/verification/task/task.ts";
import fc from "fast-check";
import { sampleTask } from "../../verification/task/sample.ts";

const item = (id: string, task: Task | undefined): StoredTask => ({
  id,
  revision: 1,
  state: "sent",
  expiresAtMs: 0,
  task,
});

describe("listings of stored tasks", () => {
  it("merges several listings by age, each task once, and skips unreadable records", async () => {
    const entry = fc.record({ at: fc.integer({ min: 0, max: 50 }), readable: fc.boolean() });
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(entry), { maxLength: 5 }), async (lists) => {
        const listings = lists.map(async function* (entries) {
          for (const { at, readable } of entries.toSorted((a, b) => a.at - b.at)) {
            yield item(
              String(at),
              readable ? sampleTask({ id: String(at), receivedAtMs: at }) : undefined,
            );
          }
        });
        const merged: number[] = [];
        for await (const { receivedAtMs } of mergeOldestFirst(listings)) merged.push(receivedAtMs);
        const all = lists.flat().filter(({ readable }) => readable);
        expect(merged).toEqual([...new Set(all.map(({ at }) => at))].sort((a, b) => a - b));
      }),
    );
  });

  it("reads a listing only as far as needed", async () => {
    let read = 0;
    async function* endless(): AsyncGenerator<StoredTask, void, undefined> {
      for (;;) {
        read += 1;
        yield item(String(read), sampleTask({ id: String(read), receivedAtMs: read }));
      }
    }
    const merged = mergeOldestFirst([endless()]);
    await merged.next();
    await merged.return(undefined);
    expect(read).toBeLessThanOrEqual(2);
  });
});

/** A zone whose record of the task is another one at each reading, until it is the last one. */
function waitingFor({
  records,
  timeoutMs,
  signal,
}: {
  records: (Task | undefined)[];
  timeoutMs: number;
  signal?: AbortSignal;
}) {
  const seenIds: string[] = [];
  let reads = 0;
  const get: TaskZone["store"]["get"] = async ({ id }) => {
    const task = records[Math.min(reads, records.length - 1)];
    reads += 1;
    return task === undefined
      ? undefined
      : { id, revision: 1, state: task.state, expiresAtMs: 0, task };
  };
  const result = waitForEnd({
    zone: { store: { get } },
    task: sampleTask({ state: "waiting" }),
    timeoutMs,
    pollMs: 1,
    signal: signal ?? new AbortController().signal,
    onChange: ({ state }) => seenIds.push(state),
  });
  return { ended: result, seen: seenIds };
}

describe("waiting for a task", () => {
  it("waits until a task has ended, and reports each new state once", async () => {
    const [still, delivering, done] = (["waiting", "delivering", "done"] as const).map((state) =>
      sampleTask({ state }),
    );
    const { ended: result, seen } = waitingFor({
      records: [still, delivering, delivering, done],
      timeoutMs: 60_000,
    });
    expect((await result).state).toBe("done");
    expect(seen).toEqual(["delivering", "done"]);
  });

  it("stops waiting at the time-out, even if the record has expired", async () => {
    for (const record of [sampleTask({ state: "sent" }), undefined]) {
      const { ended: result } = waitingFor({ records: [record], timeoutMs: 20 });
      expect((await result).state).toBe(record?.state ?? "waiting");
    }
  });

  it("stops waiting when the person interrupts", async () => {
    const signal = AbortSignal.timeout(5);
    const { ended: result } = waitingFor({
      records: [sampleTask({ state: "sent" })],
      timeoutMs: 60_000,
      signal,
    });
    await expect(result).rejects.toThrow();
  });
});

it.each([
  ["kept if all traces are kept", () => 1, /-01$/],
  ["not kept if no traces are kept", () => 0, /-00$/],
  ["kept if the zone configures nothing", undefined, /-01$/],
])("starts a new trace for a retry: %s", async (_, sampleRatio, flag) => {
  const sentMessages: string[] = [];
  const queue = { send: async ({ body }: { body: string }) => void sentMessages.push(body) };
  const zone = {
    store: { get: async () => undefined },
    queue,
    ...(sampleRatio && { sampleRatio }),
  };
  const task = sampleTask({ state: "done" });
  await sendRetry({ zone, task });
  const { trace } = JSON.parse(sentMessages[0] ?? "");
  expect(trace.traceparent).toMatch(flag);
  expect(trace.traceparent).not.toContain(task.trace.traceparent.slice(3, 35));
});
