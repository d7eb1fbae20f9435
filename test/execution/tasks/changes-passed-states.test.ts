/** Who follows a task hears of every state, however many records were not seen. */
import { describe, expect, it } from "@jest/globals";
import {
  answerChange,
  endChange,
  listRecordsBetween,
  questionChange,
  reportChange,
  startChange,
  type TaskChange,
} from "../../../lambdas/execution/tasks/changes.ts";
import type { ExecutionTask } from "../../../lambdas/execution/tasks/execution-task.ts";
import { createChangeTask, createTaskSignal } from "../../../lambdas/execution/tasks/task-store.ts";
import { recordOf } from "../a2a/records.ts";
import { memoryStore } from "../test-host.ts";

const owner = "o";
const begin = startChange({ owner, untilMs: Number.MAX_SAFE_INTEGER });
const said = (id: string) =>
  answerChange({ answer: { id, fingerprint: id, prompt: "", text: "yes" }, nowMs: 0, retentionMs: 0 });
const life: readonly TaskChange[] = [
  begin,
  reportChange({ owner, news: { progress: { text: "half" } } }),
  questionChange({ owner, question: { prompt: "Shall I?", messageId: "q1" }, expiresAtMs: 0 }),
  said("a1"),
  begin,
  questionChange({ owner, question: { prompt: "Sign in.", messageId: "q2", kind: "auth" }, expiresAtMs: 0 }),
  said("a2"),
  begin,
  endChange({ owner, outcome: { type: "success", text: "done" }, expiresAtMs: Number.MAX_SAFE_INTEGER }),
];

/** Every record of the task's life as it is stored; all changes fall into one millisecond or each into its own. */
async function recordsOf({ ticks, changes = life }: { ticks: boolean; changes?: readonly TaskChange[] }) {
  let nowMs = 1_800_000_000_000;
  const store = memoryStore(() => 0);
  const change = createChangeTask({ store, changeSignal: createTaskSignal(), now: () => (ticks ? nowMs++ : nowMs) });
  const expiresAtMs = Number.MAX_SAFE_INTEGER;
  const { lease: _lease, ...fresh } = recordOf({ state: "submitted", expiresAtMs });
  const records = [await store.create({ item: fresh })].filter((record) => record !== undefined);
  for (const next of changes) {
    const { task } = await change({ task: records.at(-1) ?? fresh, change: next });
    if (task !== undefined) records.push(task);
  }
  return records;
}

function statesOf(seen: readonly ExecutionTask[]): string[] {
  const shown = seen.flatMap((next, index) => {
    const previous = seen[index - 1];
    return previous === undefined ? [next] : listRecordsBetween({ previous, next });
  });
  const states = shown.map(({ state, question }) => [state, question?.prompt].join(" ").trim());
  return states.filter((state, index) => state !== states[index - 1]);
}

describe("a follower of a task", () => {
  it("that saw only the first record and the last hears of every state and question between them", async () => {
    const records = await recordsOf({ ticks: true });
    const all = statesOf(records);
    expect(all).toEqual([
      ...["submitted", "working", "input_required Shall I?", "working", "input_required Sign in.", "working"],
      "completed",
    ]);
    for (let mask = 0; mask < 2 ** (records.length - 2); mask += 1) {
      const seen = records.filter(
        (_, index) => index === 0 || index === records.length - 1 || mask & (1 << (index - 1)),
      );
      expect(statesOf(seen)).toEqual(all);
    }
  });

  it("hears of no state twice where a clock does not tell changes apart", async () => {
    const records = await recordsOf({ ticks: false, changes: life.slice(0, 3) });
    expect(statesOf([records[0], records.at(-1)].filter((record) => record !== undefined))).toEqual([
      ...["submitted", "working", "input_required Shall I?"],
    ]);
  });
});

describe("a task of the zone contract", () => {
  it("keeps none of the states that it left", async () => {
    const store = memoryStore(() => 0);
    const change = createChangeTask({ store, changeSignal: createTaskSignal(), now: () => 1 });
    const { a2a: _a2a, ...zone } = recordOf({ state: "submitted", expiresAtMs: Number.MAX_SAFE_INTEGER });
    const task = (await store.create({ item: zone })) ?? zone;
    expect((await change({ task, change: begin })).task?.a2a).toBeUndefined();
  });
});
