import { describe, expect, it } from "@jest/globals";
import type { Act, SlackErrorKind, TaskEvent } from "@sekisho/verification/task/events.ts";
import { maxSlackTries, taskRetryDelayMs } from "@sekisho/verification/task/failures.ts";
import type { Task } from "@sekisho/verification/task/task.ts";
import { turnDelay } from "@sekisho/verification/task/unsent.ts";
import { accepted, nowMs, play, toSent, woken } from "./play.ts";
import { askedAtMs, sampleCall, samplePolicy, sampleTask } from "./sample.ts";

const deadLettered: TaskEvent = { type: "dead_lettered", nowMs };

describe("other delays", () => {
  it("obeys the delay that a peer asks for, up to a quarter of an hour", () => {
    expect(taskRetryDelayMs(1, 42_000)).toBe(42_000);
    expect(taskRetryDelayMs(1, 3_600_000)).toBe(15 * 60_000);
    expect([1, 2, 3, 20].map((attempts) => taskRetryDelayMs(attempts, undefined))).toEqual([
      1000, 2000, 4000, 60_000,
    ]);
  });

  it("waits five minutes after a dead letter of a running task", () => {
    const { last } = play([...toSent, accepted, deadLettered]);
    expect(last).toEqual([{ type: "wake", delayMs: 5 * 60_000 }]);
  });

  it("checks a thread when its current task must have released it, and at least every 75 seconds", () => {
    expect(turnDelay({ freeAtMs: 5000, nowMs: 1000 }).delayMs).toBe(5000);
    expect(turnDelay({ freeAtMs: 9_000_000, nowMs: 1000 }).delayMs).toBe(75_000);
    expect(turnDelay({ freeAtMs: 0, nowMs: 1000 }).delayMs).toBe(1000);
  });
});

const hourMs = 3600_000;
const call = sampleCall({ taskId: "t-1" });
const base = { call, placeholder: { ts: "1.1", postedAtMs: askedAtMs } };
const entry = (state: Task["state"], atMs: number) => ({ atMs, event: "answered", state });
const outcome = { type: "answer", text: "Done." } as const;
const failedWith = (act: Act["type"], kind: SlackErrorKind): TaskEvent => ({
  type: "slack_failed",
  nowMs,
  act,
  kind,
});
const givenUpAfter = { attempts: maxSlackTries - 1 };

describe("a temporary failure of Slack", () => {
  it("retries a rate-limited delivery after the time that Slack asks for", () => {
    const task = sampleTask({ ...base, state: "delivering", outcome });
    const rateLimit = {
      type: "slack_failed",
      nowMs,
      act: "deliver",
      kind: "rate_limited",
      retryAfterMs: 42_000,
    } as const;
    expect(play([rateLimit], { task }).last).toEqual([{ type: "wake", delayMs: 42_000 }]);
  });

  it.each(["rate_limited", "unavailable", "ambiguous"] as const)(
    "retries after a failure of Slack even if nothing ran for weeks: %s",
    (kind) => {
      const history = [entry("delivering", nowMs - 30 * 24 * hourMs)];
      const task = sampleTask({ ...base, state: "delivering", outcome, history });
      expect(play([failedWith("deliver", kind)], { task })).toMatchObject({
        task: { state: "delivering", attempts: 1 },
        last: [{ type: "wake" }],
      });
    },
  );

  it("posts a single failure notice after a day of refused deliveries", () => {
    const task = sampleTask({ ...base, state: "delivering", outcome, ...givenUpAfter });
    const last = play([failedWith("deliver", "rate_limited")], { task });
    expect(last).toMatchObject({
      task: { state: "delivering", delivery: { status: "failure_notice" }, outcome },
      last: [{ type: "wake", delayMs: 0 }],
    });
    const deliveryStep = play([woken, { type: "delivered" }], { task: last.task });
    expect(deliveryStep.asked[0]).toEqual([{ type: "deliver", reconcile: false }]);
    expect(deliveryStep.task).toMatchObject({
      state: "done",
      delivery: { status: "failure_notice" },
      outcome,
    });
    const refusedStep = play([woken, failedWith("deliver", "rate_limited")], { task: last.task });
    expect(refusedStep.task).toMatchObject({
      state: "done",
      delivery: { status: "failure_notice" },
      outcome,
    });
  });

  it("skips the uploads of an answer when it posts the failure notice", () => {
    const outcomeWithFile = { ...outcome, artifacts: [{ name: "a.csv", text: "1" }] };
    const task = sampleTask({
      ...base,
      state: "delivering",
      outcome: outcomeWithFile,
      delivery: { status: "failure_notice" },
    });
    expect(play([woken], { task }).last).toEqual([{ type: "deliver", reconcile: false }]);
  });

  it("repeats a failed cleanup up to the same limit as a delivery", () => {
    const history = [entry("done", nowMs - 30 * 24 * hourMs)];
    const task = sampleTask({ ...base, state: "done", history });
    expect(play([failedWith("clean_up", "rate_limited")], { task })).toMatchObject({
      task: { cleanupDone: false },
      last: [{ type: "wake" }],
    });
    expect(
      play([failedWith("clean_up", "rate_limited")], { task: { ...task, ...givenUpAfter } }),
    ).toMatchObject({
      task: { cleanupDone: true },
      last: [],
    });
  });

  it("cancels a task whose question could not be posted for a day", () => {
    const question = {
      index: 1,
      prompt: "Shall I?",
      options: [],
      askedAtMs: nowMs,
      expiresAtMs: nowMs + hourMs,
    };
    const task = sampleTask({ ...base, state: "asking", question });
    expect(play([failedWith("ask_question", "rate_limited")], { task }).task).toMatchObject({
      state: "asking",
      attempts: 1,
    });
    expect(
      play([failedWith("ask_question", "rate_limited")], { task: { ...task, ...givenUpAfter } })
        .last,
    ).toEqual([{ type: "cancel" }]);
  });
});

describe("a final refusal of Slack", () => {
  it("retries a refused failure message as plain text before the failure notice", () => {
    const timeoutOutcome = { type: "failed", reason: "timeout", lost: false } as const;
    const task = sampleTask({ ...base, state: "delivering", outcome: timeoutOutcome });
    const plain = play([failedWith("deliver", "refused")], { task });
    expect(plain).toMatchObject({
      task: { state: "delivering", mrkdwnFallback: true },
      last: [{ type: "wake", delayMs: 0 }],
    });
    const last = play([failedWith("deliver", "refused")], { task: plain.task });
    expect(last.task).toMatchObject({
      state: "delivering",
      delivery: { status: "failure_notice" },
    });
  });

  it("retries a refused announcement as plain text and then fails the task", () => {
    const plain = play([failedWith("announce", "refused")], {
      task: sampleTask({ state: "received" }),
    });
    expect(plain).toMatchObject({
      task: { state: "received", mrkdwnFallback: true },
      last: [{ type: "wake", delayMs: 0 }],
    });
    const { task } = play([failedWith("announce", "refused")], { task: plain.task });
    expect(task).toMatchObject({
      state: "delivering",
      outcome: { type: "failed", reason: "internal" },
    });
  });
});

describe("the act that failed", () => {
  it("ends a retry as unreadable only if reading its text failed", () => {
    const { message } = sampleTask();
    const task = sampleTask({ retryOf: "older", message: { ...message, text: "" } });
    expect(play([failedWith("read_message", "refused")], { task }).task.outcome).toEqual({
      type: "unreadable",
    });
    const unasked = play([failedWith("permit", "unavailable")], {
      task: { ...task, ...givenUpAfter },
    });
    expect(unasked.task.outcome).toMatchObject({ type: "failed", reason: "internal" });
  });
});

describe("a record", () => {
  it("cuts oversized progress of a peer to what a record holds", () => {
    const waiting = sampleTask({
      ...base,
      state: "waiting",
      call: { ...call, deadlineAtMs: nowMs + hourMs },
    });
    const pollAnswer = { type: "answered", nowMs, act: "poll" } as const;
    const progress = { text: "x".repeat(500_000), percent: 5 };
    const result = { status: "accepted", task_id: "t-1", progress } as const;
    const { task } = play([{ ...pollAnswer, result }], { task: waiting, policy: samplePolicy() });
    expect(task.progress?.text).toHaveLength(1000);
    const progressShown: TaskEvent = { type: "progress_shown", nowMs, shown: {} };
    const again = play([progressShown, { ...pollAnswer, nowMs: nowMs + 5000, result }], { task });
    // The same once more is no news, though it is longer than what is kept of it.
    expect(again.last).toMatchObject([{ type: "wake" }]);
  });
});
