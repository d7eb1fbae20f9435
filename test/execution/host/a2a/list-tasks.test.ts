/** The listing over many records: every page in order, nothing twice, nothing missing, whatever is asked for. */
import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { type OperationParams, operations } from "../../../../contracts/a2a/operations.ts";
import type { TaskPage } from "../../../../lambdas/execution/host/a2a/operation.ts";
import { listTasks } from "../../../../lambdas/execution/host/a2a/operations/list-tasks.ts";
import type { ExecutionTask } from "../../../../lambdas/execution/host/execution-task.ts";
import { memoryStore } from "../test-host.ts";
import { recordOf } from "./records.ts";

type Params = Partial<OperationParams<"ListTasks">>;
type Told = Pick<ExecutionTask, "state"> & { contextId: string; changedAtMs: number };

const nowMs = 1_762_750_300_000;

async function listing(told: readonly Told[]) {
  const store = memoryStore(() => nowMs);
  const records = told.map(({ contextId, ...rest }, index) =>
    recordOf({ ...rest, listedAtMs: rest.changedAtMs, id: `t${index}`, a2a: { contextId, messages: [] } }),
  );
  for (const item of records) await store.create({ item });
  const list = listTasks({
    tasks: {
      list: ({ principal: key, cursor, limit }) =>
        store.list({ index: "principal", key, limit, ...(cursor && { cursor }) }),
    },
    pollAfterMs: 1000,
  });
  const page = (params: Params): Promise<TaskPage> => {
    const caller = { principal: "p", trace: undefined, receivedAtMs: 0 };
    const client = { signal: new AbortController().signal };
    return list({ params: operations.ListTasks.parse(params), version: "1.0", caller, client });
  };
  return { records, page };
}

const told = fc.record({
  state: fc.constantFrom("working" as const, "completed" as const),
  contextId: fc.constantFrom("a", "b"),
  changedAtMs: fc.integer({ min: nowMs - 20, max: nowMs }),
});
const filter = fc.record(
  { contextId: fc.constantFrom("a", "b"), status: fc.constantFrom("TASK_STATE_WORKING", "TASK_STATE_FAILED") },
  { requiredKeys: [] },
);

describe("all pages of a listing", () => {
  it("together are what matches, the newest first", async () => {
    const many = fc.array(told, { maxLength: 130, size: "max" });
    await fc.assert(
      fc.asyncProperty(many, filter, fc.integer({ min: 1, max: 60 }), async (all, narrowed, pageSize) => {
        const { records, page } = await listing(all);
        const matching = records
          .filter(({ a2a }) => a2a?.contextId === (narrowed.contextId ?? a2a?.contextId))
          .filter(({ state }) => narrowed.status === undefined || narrowed.status.endsWith(state.toUpperCase()))
          .sort((a, b) => b.changedAtMs - a.changedAtMs || (a.id < b.id ? 1 : -1));
        const seen: string[] = [];
        let pageToken: string | undefined;
        do {
          const { tasks, nextPageToken, totalSize } = await page({ ...narrowed, pageSize, pageToken } as Params);
          expect(totalSize).toBe(matching.length);
          seen.push(...tasks.map(({ id }) => id));
          pageToken = nextPageToken;
        } while (pageToken !== "");
        expect(seen).toEqual(matching.map(({ id }) => id));
      }),
      { numRuns: 30 },
    );
  });

  it("end where the looking does, and the next one goes on there", async () => {
    const others = Array.from({ length: 1010 }, () => ({
      state: "working" as const,
      contextId: "a",
      changedAtMs: nowMs,
    }));
    const { page } = await listing([{ state: "working", contextId: "b", changedAtMs: nowMs - 1 }, ...others]);
    const first = await page({ contextId: "b" });
    expect([first.tasks, first.totalSize, first.nextPageToken === ""]).toEqual([[], 0, false]);
    const second = await page({ contextId: "b", pageToken: first.nextPageToken });
    expect([second.tasks.map(({ id }) => id), second.nextPageToken]).toEqual([["t0"], ""]);
  });
});
