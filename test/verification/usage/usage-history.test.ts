/** What the record of a finished task says about its use. */
import { describe, expect, it } from "@jest/globals";
import { endCleanup } from "@sekisho/verification/task/delivering.ts";
import type { Task } from "@sekisho/verification/task/task.ts";
import { countVotes, recordUsage, toUsageEntry } from "@sekisho/verification/usage/entry.ts";
import { sampleCall, sampleTask } from "../task/sample.ts";

const nowMs = Date.UTC(2026, 10, 22, 23, 59, 59);
const dayMs = 24 * 3600_000;
const settings = { retentionDays: 60, texts: false };

const answer = {
  type: "answer" as const,
  text: "A checkpoint.",
  tokens: { input: 3, output: 4, total: 7 },
};
const under = (changes: Partial<Task> = {}) =>
  sampleTask({
    state: "delivering",
    outcome: answer,
    delivery: { status: "posting" },
    call: sampleCall(),
    wait: { workStartedAtMs: nowMs, polls: 2 },
    receivedAtMs: nowMs - 5000,
    ...changes,
  });

/** The task is delivered. */
function end(oldValue: Task, args: Partial<typeof settings> = {}): Task {
  return recordUsage({
    previousTask: oldValue,
    task: { ...oldValue, state: "done" },
    settings: { ...settings, ...args },
    atMs: nowMs,
  });
}

/** Its texts are erased two minutes later. */
function erase(oldValue: Task, args: Partial<typeof settings> = {}): Task {
  return recordUsage({
    previousTask: oldValue,
    task: endCleanup(oldValue),
    settings: { ...settings, ...args },
    atMs: nowMs + 120_000,
  });
}

const counts = {
  ...{ destination: "host", outcome: "answered", polls: 2, questions: 0 },
  ...{ askedAtMs: nowMs - 5000, endedAtMs: nowMs, tokens: answer.tokens, votes: undefined },
};

describe("the use of a task", () => {
  it("reports who asked when and where, how the task ended and its tokens", () => {
    const task = end(under());
    const { team, channel, user } = task.message;
    expect(toUsageEntry(task)).toMatchObject({ ...counts, team, channel, user });
  });

  it("keeps the same entry after the texts are erased and contains no text", () => {
    const task = erase(end(under()));
    expect(toUsageEntry(task)).toEqual(toUsageEntry(end(under())));
    expect(JSON.stringify(task)).not.toContain(under().message.text);
    expect(JSON.stringify(task)).not.toContain(answer.text);
  });

  it("keeps the beginning of question and answer if texts are enabled, and cuts no character in two", () => {
    const task = end(under({ outcome: { ...answer, text: `${"a".repeat(3999)}🏯` } }));
    expect(toUsageEntry(erase(task, { texts: true }))?.texts).toEqual({
      question: task.message.text,
      answer: "a".repeat(3999),
    });
  });

  it("keeps the record for the configured days after the end, and never shorter than before", () => {
    expect(end(under()).expiresAtMs).toBe(nowMs + 60 * dayMs);
    const { expiresAtMs } = under({ expiresAtMs: nowMs + 29 * dayMs });
    expect(end(under({ expiresAtMs }), { retentionDays: 1 }).expiresAtMs).toBe(expiresAtMs);
  });

  it("keeps the day of the first end if an operator repeats the delivery", () => {
    const failedTask = erase(end(under({ delivery: { status: "given_up" } })));
    expect(toUsageEntry(failedTask)).toMatchObject({
      ...counts,
      outcome: "failed",
      reason: "slack",
    });
    const again: Task = { ...failedTask, state: "delivering", delivery: { status: "posting" } };
    const deliveredTask = recordUsage({
      ...{ previousTask: again, task: { ...again, state: "done" as const } },
      ...{ settings, atMs: nowMs + dayMs },
    });
    expect(toUsageEntry(erase(deliveredTask))).toMatchObject(counts);
  });

  it("skips a task that version 1.0.0 has already counted", () => {
    const history = [{ atMs: nowMs - 1, event: "delivered", state: "done" as const }];
    expect(toUsageEntry(end(under({ history })))).toBeUndefined();
  });

  it("records nothing if the retention is zero days", () => {
    const task = end(under(), { retentionDays: 0 });
    expect(toUsageEntry(task)).toBeUndefined();
    expect(erase(task, { retentionDays: 0, texts: true })).toEqual(endCleanup(task));
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
      "refused for a reply to another person's question",
      { outcome: { type: "not_yours" } },
      { outcome: "refused", reason: "not_yours" },
    ],
    ["unanswered", { outcome: { type: "unanswered" } }, { outcome: "unanswered" }],
    [
      "answered but not delivered to Slack",
      { delivery: { status: "given_up" } },
      { outcome: "failed", reason: "slack" },
    ],
    [
      "ended because the Slack workspace is gone",
      { outcome: undefined, delivery: { status: "given_up" } },
      { outcome: "failed", reason: "slack" },
    ],
  ])(
    "counts a task that was %s, before and after its texts are erased",
    (_, changes, entryFields) => {
      const task = end(under(changes));
      expect(toUsageEntry(task)).toMatchObject(entryFields);
      expect(toUsageEntry(erase(task))).toMatchObject(entryFields);
    },
  );

  it.each<[string, Partial<Task>]>([
    ["a cancel word", { outcome: { type: "canceling", count: 1 } }],
    ["a reply to a question", { outcome: undefined, delivery: undefined }],
    [
      "a message that was not for the bot",
      {
        outcome: undefined,
        delivery: undefined,
        message: { ...sampleTask().message, unaddressed: true },
      },
    ],
  ])("counts no use for %s", (_, changes) => {
    expect(toUsageEntry(end(under(changes)))).toBeUndefined();
  });

  it("counts votes by their value", () => {
    const votes = (["up", "down", "up"] as const).map((vote, index) => ({
      voterId: `v${index}`,
      vote,
      atMs: nowMs,
    }));
    expect(countVotes(votes)).toEqual({ up: 2, down: 1 });
    expect(toUsageEntry(end(under({ votes })))?.votes).toEqual({ up: 2, down: 1 });
  });
});
