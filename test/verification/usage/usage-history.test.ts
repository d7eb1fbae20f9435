/** What the usage history keeps of a task that is over. */
import { describe, expect, it } from "@jest/globals";
import { createMemoryTaskStore } from "@sekisho/runtime/engine/memory/task-store.ts";
import type { Task } from "@sekisho/verification/task/task.ts";
import {
  countVotes,
  createHistoryId,
  createUsageHistory,
  formatHistoryKey,
  parseHistoryEntry,
  withVotes,
} from "@sekisho/verification/usage/entry.ts";
import { sampleCall, sampleTask } from "../task/sample.ts";

const nowMs = Date.UTC(2026, 10, 22, 23, 59, 59);
const dayMs = 24 * 3600_000;
const settings = { retentionDays: 30, texts: false };

function historyOf(given: Partial<typeof settings> = {}) {
  let clockMs = nowMs;
  const store = createMemoryTaskStore({ parse: parseHistoryEntry, now: () => clockMs });
  const { note } = createUsageHistory({
    store,
    settings: { ...settings, ...given },
    now: () => clockMs,
  });
  return {
    note,
    entryOf: ({ id }: Task) => store.get({ id: createHistoryId(id) }),
    list: (key: string) => store.list({ index: "state", key, limit: 9 }),
    listPerson: (key: string) => store.list({ index: "principal", key, limit: 9 }),
    pass: (ms: number) => {
      clockMs += ms;
    },
  };
}

const answer = {
  type: "answer" as const,
  text: "A checkpoint.",
  tokens: { input: 3, output: 4, total: 7 },
};
const wait = { workStartedAtMs: nowMs, polls: 2 };
const ended = (changes: Partial<Task> = {}) =>
  sampleTask({
    state: "done",
    outcome: answer,
    call: sampleCall(),
    wait,
    receivedAtMs: nowMs - 5000,
    ...changes,
  });

describe("the usage history", () => {
  it("says who asked when and where, how it ended, and what it took; no text", async () => {
    const { note, entryOf } = historyOf();
    const task = ended();
    await note({ task });
    const { team, channel, user, text } = task.message;
    const entry = await entryOf(task);
    expect(entry).toMatchObject({
      ...{
        requestId: task.id,
        team,
        channel,
        user,
        destination: "host",
        outcome: "answered",
        polls: 2,
        questions: 0,
      },
      ...{
        askedAtMs: nowMs - 5000,
        listedAtMs: nowMs,
        expiresAtMs: nowMs + 30 * dayMs,
        tokens: answer.tokens,
      },
    });
    expect(JSON.stringify(entry)).not.toContain(text);
    expect(JSON.stringify(entry)).not.toContain(answer.text);
  });

  it("keeps the beginning of both texts where that is switched on, and never half a character", async () => {
    const { note, entryOf } = historyOf({ texts: true });
    const task = ended({ outcome: { ...answer, text: `${"a".repeat(3999)}🏯` } });
    await note({ task });
    expect((await entryOf(task))?.texts).toEqual({
      question: task.message.text,
      answer: "a".repeat(3999),
    });
  });

  it("has one entry of a task, however often it is told that it is over, and under the day of the first time", async () => {
    const { note, list, listPerson, pass } = historyOf();
    const task = ended();
    await note({ task });
    pass(2000);
    await note({ task });
    expect((await list("history/2026-11-22")).items).toHaveLength(1);
    expect((await list("history/2026-11-23")).items).toEqual([]);
    expect((await listPerson(formatHistoryKey(task.message))).items).toHaveLength(1);
    // The person's tasks under way are listed by another key.
    expect((await listPerson(task.principal)).items).toEqual([]);
  });

  it.each<[string, Partial<Task>, object]>([
    [
      "canceled",
      { outcome: { type: "failed", reason: "canceled", lost: false } },
      { outcome: "canceled" },
    ],
    [
      "failed",
      { outcome: { type: "failed", reason: "timeout", lost: false } },
      { outcome: "failed", reason: "timeout" },
    ],
    ["refused", { outcome: { type: "refused" } }, { outcome: "refused" }],
    [
      "limited",
      { outcome: { type: "limited", by: "user" } },
      { outcome: "limited", reason: "user" },
    ],
    [
      "not theirs to answer",
      { outcome: { type: "not_yours" } },
      { outcome: "refused", reason: "not_yours" },
    ],
    ["answered by nobody", { outcome: { type: "unanswered" } }, { outcome: "unanswered" }],
    [
      "answered, and not delivered by Slack",
      { delivery: { status: "given_up" } },
      { outcome: "failed", reason: "slack" },
    ],
    [
      "ended by a Slack that is gone",
      { outcome: undefined, delivery: { status: "given_up" } },
      { outcome: "failed", reason: "slack" },
    ],
  ])("counts what was %s", async (_, changes, expected) => {
    const { note, entryOf } = historyOf();
    const task = ended(changes);
    await note({ task });
    expect(await entryOf(task)).toMatchObject(expected);
  });

  it.each<[string, Partial<Task>]>([
    ["a word that cancels", { outcome: { type: "canceling", count: 1 } }],
    ["the answer to a question", { outcome: undefined }],
    [
      "what nobody had said to the bot",
      { outcome: undefined, message: { ...sampleTask().message, unaddressed: true } },
    ],
  ])("knows nothing of %s", async (_, changes) => {
    const { note, entryOf } = historyOf();
    const task = ended(changes);
    await note({ task });
    expect(await entryOf(task)).toBeUndefined();
  });

  it("forgets after so many days, and with none keeps nothing", async () => {
    const kept = historyOf({ retentionDays: 1 });
    const task = ended();
    await kept.note({ task });
    kept.pass(dayMs - 1);
    expect(await kept.entryOf(task)).toBeDefined();
    kept.pass(1);
    expect(await kept.entryOf(task)).toBeUndefined();
    const none = historyOf({ retentionDays: 0 });
    await none.note({ task });
    expect(await none.entryOf(task)).toBeUndefined();
  });

  it("has the votes of the first thousand people, and what each of them thinks later", async () => {
    const { note, entryOf } = historyOf();
    const task = ended();
    await note({ task });
    const entry = await entryOf(task);
    if (entry === undefined) throw new Error("there is no entry");
    const votesOf = (first: number, count: number, vote: "up" | "down") =>
      Array.from({ length: count }, (_, index) => ({
        voterId: `person ${first + index}`,
        vote,
        atMs: nowMs,
      }));
    const nearlyFull = withVotes(entry, votesOf(0, 999, "up")) ?? entry;
    const full = withVotes(nearlyFull, votesOf(999, 3, "up")) ?? entry;
    expect(countVotes(full.votes)).toEqual({ up: 1000, down: 0 });
    expect(withVotes(full, votesOf(1000, 1, "up"))).toBeUndefined();
    expect(countVotes(withVotes(full, votesOf(999, 2, "down"))?.votes)).toEqual({
      up: 999,
      down: 1,
    });
  });
});
