import { describe, expect, it } from "@jest/globals";
import type { Act, SlackErrorKind, TaskEvent } from "@sekisho/verification/task/events.ts";
import {
  maxSlackTries,
  pollDelay,
  taskRetryDelayMs,
  withHistory,
} from "@sekisho/verification/task/step.ts";
import type { Task } from "@sekisho/verification/task/task.ts";
import { turnDelay } from "@sekisho/verification/task/unsent.ts";
import fc from "fast-check";
import { forAll } from "../../doubles/for-all.ts";
import {
  accepted,
  announced,
  nowMs,
  play,
  resumed,
  success,
  toSent,
  unavailable,
  woken,
} from "./play.ts";
import { askedAtMs, sampleCall, samplePolicy, sampleTask } from "./sample.ts";

const minuteMs = 60_000;
const longestMs = 10 * minuteMs;
const longestObeyedMs = 15 * minuteMs;

/** As old as a task may be, and older. */
const ages = fc.nat({ max: 24 * 60 * minuteMs });
const pollsSoFar = fc.nat({ max: 5000 });
const advices = fc.option(fc.nat(), { nil: undefined });

describe("the delay before a poll", () => {
  it("begins with what the host asks for, or half a second, and grows by half at most", () => {
    const mostOf = (polls: number, pollAfterMs?: number) => {
      const { delayMs, jitterMs } = pollDelay({ polls, ageMs: 60 * minuteMs, pollAfterMs });
      return delayMs + jitterMs;
    };
    expect([0, 1, 2].map((polls) => mostOf(polls))).toEqual([500, 750, 1125]);
    expect([0, 1, 2].map((polls) => mostOf(polls, 1000))).toEqual([1000, 1500, 2250]);
  });

  it("is a fifth of the task's age at most, and ten minutes at most, unless the host asks for more", () => {
    forAll(pollsSoFar, ages, advices).hold((polls, ageMs, pollAfterMs) => {
      const { delayMs, jitterMs } = pollDelay({ polls, ageMs, pollAfterMs });
      const askedForMs = Math.min(Math.max(pollAfterMs ?? 500, 100), longestObeyedMs);
      expect(delayMs + jitterMs).toBeLessThanOrEqual(
        Math.max(askedForMs, Math.min(ageMs / 5, longestMs)),
      );
    });
  });

  it("is never below what the host asks for within a quarter of an hour", () => {
    forAll(pollsSoFar, ages, advices, fc.nat()).hold((polls, ageMs, pollAfterMs, ceilingMs) => {
      const { delayMs, jitterMs } = pollDelay({ polls, ageMs, pollAfterMs, ceilingMs });
      expect(delayMs).toBeGreaterThanOrEqual(Math.min(pollAfterMs ?? 500, longestObeyedMs));
      expect(delayMs).toBeGreaterThanOrEqual(100);
      expect(jitterMs).toBeGreaterThanOrEqual(0);
    });
  });

  it("is left to chance by up to a half, so that tasks that were sent together are not polled together", () => {
    const half = { delayMs: longestMs / 2, jitterMs: longestMs / 2 };
    expect(pollDelay({ polls: 1000, ageMs: 8 * 60 * minuteMs })).toEqual(half);
  });

  it.each([
    [10, 24, 33],
    [60, 35, 45],
    [480, 85, 100],
  ])("lets a task of %i minutes be polled between %i and %i times", (minutes, least, most) => {
    // The first call has waited for 20 s; our own host asks for a second.
    let polls = 0;
    for (let ageMs = 20_000; ageMs < minutes * minuteMs; polls++) {
      const { delayMs, jitterMs } = pollDelay({ polls, ageMs, pollAfterMs: 1000 });
      ageMs += delayMs + jitterMs / 2 + 100;
    }
    expect(polls).toBeGreaterThanOrEqual(least);
    expect(polls).toBeLessThanOrEqual(most);
  });
});

describe("other delays", () => {
  it("obey what the peer asks for, up to a quarter of an hour", () => {
    expect(taskRetryDelayMs(1, 42_000)).toBe(42_000);
    expect(taskRetryDelayMs(1, 3_600_000)).toBe(15 * 60_000);
    expect([1, 2, 3, 20].map((attempts) => taskRetryDelayMs(attempts, undefined))).toEqual([
      1000, 2000, 4000, 60_000,
    ]);
  });

  it("leave a dead letter alone for minutes, since what it waits for may be away for hours", () => {
    const { last } = play([...toSent, accepted, deadLettered]);
    expect(last).toEqual([{ type: "wake", delayMs: 5 * 60_000 }]);
  });

  it("look at a thread when the one before may have held it long enough, and every 75 seconds at least", () => {
    expect(turnDelay({ freeAtMs: 5000, nowMs: 1000 }).delayMs).toBe(5000);
    expect(turnDelay({ freeAtMs: 9_000_000, nowMs: 1000 }).delayMs).toBe(75_000);
    expect(turnDelay({ freeAtMs: 0, nowMs: 1000 }).delayMs).toBe(1000);
  });
});

const asked: TaskEvent = { type: "cancel_asked", nowMs: 0, resumed: false };

describe("the history of a task", () => {
  it("tells of changes of the state and of wishes, not of every poll", () => {
    const before = sampleTask({ state: "waiting" });
    const event = { atMs: 7 };
    expect(
      withHistory({ ...event, previousTask: before, task: before, event: woken }).history,
    ).toEqual(before.history);
    const wished = withHistory({ ...event, previousTask: before, task: before, event: asked });
    expect(wished.history.slice(1)).toEqual([{ atMs: 7, event: "cancel_asked", state: "waiting" }]);
    const changed = withHistory({
      ...event,
      previousTask: before,
      task: { ...before, state: "delivering" },
      event: woken,
    });
    expect(changed.history.slice(1)).toEqual([{ atMs: 7, event: "woken", state: "delivering" }]);
  });

  it("keeps its beginning and the latest, however often somebody wishes something", () => {
    let task = sampleTask();
    for (let atMs = 1; atMs <= 100; atMs++)
      task = withHistory({ previousTask: task, task, event: asked, atMs });
    expect(task.history).toHaveLength(40);
    expect(task.history[0]).toEqual(sampleTask().history[0]);
    expect(task.history.at(-1)?.atMs).toBe(100);
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

describe("what Slack does not take for now", () => {
  it("is tried again when Slack says so", () => {
    const task = sampleTask({ ...base, state: "delivering", outcome });
    const limited = {
      type: "slack_failed",
      nowMs,
      act: "deliver",
      kind: "rate_limited",
      retryAfterMs: 42_000,
    } as const;
    expect(play([limited], { task }).last).toEqual([{ type: "wake", delayMs: 42_000 }]);
  });

  it.each(["rate_limited", "unavailable", "ambiguous"] as const)(
    "is tried again, however long nothing ran before: %s",
    (kind) => {
      const history = [entry("delivering", nowMs - 30 * 24 * hourMs)];
      const task = sampleTask({ ...base, state: "delivering", outcome, history });
      expect(play([failedWith("deliver", kind)], { task })).toMatchObject({
        task: { state: "delivering", attempts: 1 },
        last: [{ type: "wake" }],
      });
    },
  );

  it("is told in one plain text after a day of tries, which is tried once", () => {
    const task = sampleTask({ ...base, state: "delivering", outcome, ...givenUpAfter });
    const last = play([failedWith("deliver", "rate_limited")], { task });
    expect(last).toMatchObject({
      task: { state: "delivering", delivery: { status: "failure_notice" }, outcome },
      last: [{ type: "wake", delayMs: 0 }],
    });
    const said = play([woken, { type: "delivered" }], { task: last.task });
    expect(said.asked[0]).toEqual([{ type: "deliver", reconcile: false }]);
    expect(said.task).toMatchObject({
      state: "done",
      delivery: { status: "failure_notice" },
      outcome,
    });
    const refused = play([woken, failedWith("deliver", "rate_limited")], { task: last.task });
    expect(refused.task).toMatchObject({
      state: "done",
      delivery: { status: "failure_notice" },
      outcome,
    });
  });

  it("is not uploaded any more when the last words are said", () => {
    const made = { ...outcome, artifacts: [{ name: "a.csv", text: "1" }] };
    const task = sampleTask({
      ...base,
      state: "delivering",
      outcome: made,
      delivery: { status: "failure_notice" },
    });
    expect(play([woken], { task }).last).toEqual([{ type: "deliver", reconcile: false }]);
  });

  it("is looked at once more in the end, as often as it is delivered", () => {
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

  it("ends a question after a day of tries", () => {
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

describe("what Slack refuses for good", () => {
  it("is told in plain text first, also where it is words of ours", () => {
    const told = { type: "failed", reason: "timeout", lost: false } as const;
    const task = sampleTask({ ...base, state: "delivering", outcome: told });
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

  it("is said in plain text where it is the announcement, and told as a failure where that is refused as well", () => {
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
  it("decides what follows: a retry whose text was never read ends as unreadable only where reading it failed", () => {
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
  it("holds whatever a peer tells of its progress", () => {
    const waiting = sampleTask({
      ...base,
      state: "waiting",
      call: { ...call, deadlineAtMs: nowMs + hourMs },
    });
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

const uncertain: TaskEvent = { type: "slack_failed", nowMs, act: "announce", kind: "ambiguous" };
const deadLettered: TaskEvent = { type: "dead_lettered", nowMs };
const cancelAsked: TaskEvent = { type: "cancel_asked", nowMs, resumed: false };

describe("the mark to look at the thread first", () => {
  it.each<[string, TaskEvent[]]>([
    ["a worker died while it announced", [resumed]],
    ["a dead letter ended the task", [woken, announced, deadLettered]],
    ["a dead letter interrupted the delivery", [...toSent, success, deadLettered]],
    ["somebody canceled what may have been announced", [woken, cancelAsked]],
    ["Slack refused to share the files", [...toSent, success, { type: "share_refused" }]],
  ])("is set, and counts as no failure: %s", (_why, events) => {
    expect(play(events).task).toMatchObject({ reconcile: true, attempts: 0 });
  });

  it("is set beside the count where Slack failed, and goes with it once the task goes on", () => {
    const { task } = play([woken, uncertain, woken, uncertain]);
    expect(task).toMatchObject({ state: "received", reconcile: true, attempts: 2 });
    const after = play([woken, announced], { task }).task;
    expect(after).toMatchObject({ state: "announced", attempts: 0 });
    expect(after).not.toHaveProperty("reconcile");
  });

  it("makes the delivery look, and is gone after it", () => {
    const ended = play([woken, uncertain, deadLettered, woken]);
    expect(ended.last).toEqual([{ type: "deliver", reconcile: true }]);
    const { task } = play([{ type: "delivered" }], { task: ended.task });
    expect(task.state).toBe("done");
    expect(task).not.toHaveProperty("reconcile");
  });

  it("is not set by a call that failed", () => {
    const { task } = play([...toSent, unavailable]);
    expect(task).toMatchObject({ state: "sent", attempts: 1 });
    expect(task).not.toHaveProperty("reconcile");
  });
});
