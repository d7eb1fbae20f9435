/** The listing over many records: every page in order, nothing twice, nothing missing, whatever is asked for. */
import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { type OperationParams, operations } from "../../../contracts/a2a/operations.ts";
import type { A2aTask } from "../../../contracts/a2a/task.ts";
import { listTasks } from "../../../lambdas/execution/a2a/list-tasks.ts";
import type { TaskPage } from "../../../lambdas/execution/a2a/operation.ts";
import type { ExecutionTask } from "../../../lambdas/execution/tasks/execution-task.ts";
import { memoryStore } from "../test-host.ts";
import { startA2aHost, userMessage } from "./a2a-host.ts";
import { recordOf } from "./records.ts";

type Params = Partial<OperationParams<"ListTasks">>;
type Told = Pick<ExecutionTask, "state"> & { contextId: string; changedAtMs: number };

const nowMs = 1_762_750_300_000;

async function listing(told: readonly Told[], now = () => nowMs) {
  const store = memoryStore(() => nowMs);
  const records = told.map(({ contextId, ...rest }, index) =>
    recordOf({ ...rest, listedAtMs: rest.changedAtMs, id: `t${index}`, a2a: { contextId, messages: [] } }),
  );
  for (const item of records) await store.create({ item });
  const list = listTasks({
    tasks: {
      advanceIfDue: async (task) => task,
      list: ({ principal: key, cursor, limit }) =>
        store.list({ index: "principal", key, limit, ...(cursor && { cursor }) }),
    },
    pollAfterMs: 1000,
    now,
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

  it("take bounded time: a full page is counted on for a moment, and the next one goes on where it ended", async () => {
    const many = Array.from({ length: 100 }, () => ({ state: "working" as const, contextId: "a", changedAtMs: nowMs }));
    let readAtMs = nowMs;
    const { page } = await listing(many, () => readAtMs++);
    const first = await page({ pageSize: 2 });
    expect([first.tasks.length, first.totalSize]).toEqual([2, 100]);
    const slow = await listing(many, () => {
      readAtMs += 60;
      return readAtMs;
    });
    const some = await slow.page({ pageSize: 5 });
    expect(some.tasks).toHaveLength(5);
    expect(some.totalSize).toBeLessThan(20);
    const rest = await slow.page({ pageSize: 5, pageToken: some.nextPageToken });
    expect(rest.tasks.map(({ id }) => id)).not.toContain(some.tasks.at(-1)?.id);
    expect(rest.tasks).toHaveLength(5);
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

describe("a listing", () => {
  it("gives up what was lost, and expires what nobody answered, like every other read", async () => {
    const host = await startA2aHost();
    const { store } = host;
    const past = Date.now() - 100_000;
    for (const id of ["lost", "asks"]) {
      const { task } = await host.result<{ task: A2aTask }>("SendMessage", { message: userMessage("hi") });
      const { outcome: _none, ...record } = (await store.get({ id: task.id })) as ExecutionTask;
      const waiting = {
        state: "input_required" as const,
        question: { prompt: "Which?", messageId: "q" },
        deadlineAtMs: past,
      };
      const running = { state: "working" as const, lease: { owner: "dead", untilMs: past } };
      await store.replace({ item: { ...record, ...(id === "lost" ? running : waiting) } });
    }
    const { tasks } = await host.result<TaskPage>("ListTasks");
    expect(tasks.map(({ status }) => status.state)).toEqual(["TASK_STATE_FAILED", "TASK_STATE_FAILED"]);
    const none = await host.result<TaskPage>("ListTasks", { status: "TASK_STATE_WORKING" });
    expect(none.tasks).toEqual([]);
    await host.close();
  });
});
