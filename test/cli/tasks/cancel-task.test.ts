/** Waiting for a task to be over. */
import { describe, expect, it } from "@jest/globals";
import type { Task } from "../../../lambdas/verification/task/task.ts";
import { waitForEnd } from "../../../lib/cli/tasks/cancel-task.ts";
import type { TaskPlace } from "../../../lib/cli/tasks/stored-task.ts";
import { sampleTask } from "../../verification/task/sample.ts";

/** A place whose record of the task is another one at each reading, until it is the last one. */
function waiting({
  records,
  timeoutMs,
  signal,
}: {
  records: (Task | undefined)[];
  timeoutMs: number;
  signal?: AbortSignal;
}) {
  const seen: string[] = [];
  let reads = 0;
  const get: TaskPlace["store"]["get"] = async ({ id }) => {
    const task = records[Math.min(reads, records.length - 1)];
    reads += 1;
    return task === undefined ? undefined : { id, revision: 1, state: task.state, expiresAtMs: 0, task };
  };
  const ended = waitForEnd({
    place: { store: { get } },
    task: sampleTask({ state: "waiting" }),
    timeoutMs,
    pollMs: 1,
    signal: signal ?? new AbortController().signal,
    changed: ({ state }) => seen.push(state),
  });
  return { ended, seen };
}

describe("waiting for a task", () => {
  it("ends with it, and tells of each new state once", async () => {
    const [still, delivering, done] = (["waiting", "delivering", "done"] as const).map((state) =>
      sampleTask({ state }),
    );
    const { ended, seen } = waiting({ records: [still, delivering, delivering, done], timeoutMs: 60_000 });
    expect((await ended).state).toBe("done");
    expect(seen).toEqual(["delivering", "done"]);
  });

  it("ends where the time is over first, also when the record has expired", async () => {
    for (const record of [sampleTask({ state: "sent" }), undefined]) {
      const { ended } = waiting({ records: [record], timeoutMs: 20 });
      expect((await ended).state).toBe(record?.state ?? "waiting");
    }
  });

  it("is given up when the person interrupts", async () => {
    const signal = AbortSignal.timeout(5);
    const { ended } = waiting({ records: [sampleTask({ state: "sent" })], timeoutMs: 60_000, signal });
    await expect(ended).rejects.toThrow();
  });
});
