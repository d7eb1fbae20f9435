/** What Slack does not take: how long it is tried, and what is done without. */
import { describe, expect, it } from "@jest/globals";
import type { TaskEvent } from "../../../lambdas/verification/task/events.ts";
import type { Task } from "../../../lambdas/verification/task/task.ts";
import { nowMs, play } from "./play.ts";
import { askedAtMs, samplePolicy, sampleTask } from "./sample.ts";

const hourMs = 3600_000;
const base = { destination: "host", taskId: "t-1", placeholderTs: "1.1", announcedAtMs: askedAtMs } as const;
const limited = (atMs: number): TaskEvent => ({ type: "slack_failed", nowMs: atMs, kind: "rate_limited" });
const entry = (state: Task["state"], atMs: number) => ({ atMs, event: "answered", state });

describe("the day for which Slack is tried", () => {
  const lateMs = nowMs + 25 * hourMs;

  it("begins with the delivery, not with a message that waited long for its turn or for a person", () => {
    const outcome = { type: "answer", text: "Done." } as const;
    const task = sampleTask({ ...base, state: "delivering", outcome, history: [entry("delivering", lateMs)] });
    const tried = play([limited(lateMs + 23 * hourMs)], { task });
    expect(tried).toMatchObject({ task: { state: "delivering", attempts: 1 }, last: [{ type: "wake" }] });
    const over = play([limited(lateMs + 25 * hourMs)], { task });
    expect(over.task).toMatchObject({ state: "done", outcome });
  });

  it("begins for the sweep when the answer was delivered", () => {
    const task = sampleTask({ ...base, state: "done", history: [entry("done", lateMs)] });
    expect(play([limited(lateMs + hourMs)], { task })).toMatchObject({
      task: { swept: false },
      last: [{ type: "wake" }],
    });
    expect(play([limited(lateMs + 25 * hourMs)], { task })).toMatchObject({ task: { swept: true }, last: [] });
  });

  it("begins for a question when it is asked, not with the one before", () => {
    const question = { index: 1, prompt: "Shall I?", options: [], askedAtMs: lateMs, expiresAtMs: lateMs + hourMs };
    const task = sampleTask({ ...base, state: "asking", question, history: [entry("asking", nowMs)] });
    expect(play([limited(lateMs + 1000)], { task })).toMatchObject({
      task: { state: "asking", attempts: 1 },
      last: [{ type: "wake" }],
    });
  });
});

describe("a record", () => {
  it("holds whatever a peer tells of its progress", () => {
    const waiting = sampleTask({ ...base, state: "waiting", deadlineAtMs: nowMs + hourMs });
    const told = { type: "answered", nowMs, act: "poll" } as const;
    const progress = { text: "x".repeat(500_000), percent: 5 };
    const result = { status: "accepted", task_id: "t-1", progress } as const;
    const { task } = play([{ ...told, result }], { task: waiting, policy: samplePolicy() });
    expect(task.progress?.text).toHaveLength(1000);
    const shown: TaskEvent = { type: "progress_shown", nowMs, shown: {} };
    const again = play([shown, { ...told, nowMs: nowMs + 5000, result }], { task });
    // The same once more is no news, though it is longer than what is kept of it.
    expect(again.last).toMatchObject([{ type: "wake" }]);
  });
});
