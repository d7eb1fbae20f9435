/** The gaps between the polls of one task: they grow with its age, and are short where somebody waits for what is new. */
import { describe, expect, it } from "@jest/globals";
import type { TaskResult } from "../../../contracts/methods.ts";
import type { TaskEvent } from "../../../lambdas/verification/task/events.ts";
import type { Policy } from "../../../lambdas/verification/task/routing.ts";
import { waitOf } from "../../../lambdas/verification/task/step.ts";
import type { Task } from "../../../lambdas/verification/task/task.ts";
import { accepted, announced, asking, nowMs, play, woken } from "./play.ts";
import { samplePolicy } from "./sample.ts";

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
/** A deadline that comes in no story. */
const policy = samplePolicy({ deadlineMs: 24 * hourMs });
const sent = play([woken, announced, woken], { policy }).task;

type Progress = Extract<TaskResult, { status: "accepted" }>["progress"];

/** It was accepted when it was as old as that, and has been polled often. */
function atWork(ageMs: number, changes: Partial<Task> = {}): Task {
  const { task } = play([{ ...accepted, nowMs: nowMs + ageMs }], { task: sent, policy });
  return { ...task, wait: { ...waitOf(task), polls: 100 }, ...changes };
}

/** One poll at that age, and the gap after it: the shortest and the longest that chance may make of it. */
function poll({
  task,
  ageMs,
  progress,
  pollAfterMs,
  under = policy,
}: {
  task: Task;
  ageMs: number;
  progress?: Progress;
  pollAfterMs?: number;
  under?: Policy;
}) {
  const atMs = nowMs + ageMs;
  const result = {
    ...accepted.result,
    ...(pollAfterMs !== undefined && { poll_after_ms: pollAfterMs }),
    ...(progress && { progress }),
  };
  const polled = play(
    [
      { ...woken, nowMs: atMs },
      { ...accepted, act: "poll", nowMs: atMs, result },
    ],
    {
      task,
      policy: under,
    },
  );
  const isShown = polled.last[0]?.type === "show_progress";
  const showing: TaskEvent = { type: "progress_shown", nowMs: atMs, shown: {} };
  const { task: after, last } = isShown ? play([showing], { task: polled.task, policy: under }) : polled;
  const [wake] = last;
  if (wake?.type !== "wake") throw new Error("it is not polled again");
  const leastMs = wake.delayMs;
  return { task: after, leastMs, mostMs: leastMs + (wake.jitterMs ?? 0), isShown };
}

describe("the gap between two polls of a task that tells nothing", () => {
  it("is a fifth of the time since it was sent, and ten minutes at most", () => {
    const task = atWork(20_000);
    const mostAt = (ageMs: number) => poll({ task, ageMs }).mostMs;
    expect([minuteMs, 10 * minuteMs, hourMs, 8 * hourMs].map(mostAt)).toEqual([
      12_000,
      2 * minuteMs,
      10 * minuteMs,
      10 * minuteMs,
    ]);
  });

  it("is short again after its question was answered, however long it had been at work before", () => {
    const ageMs = 8 * hourMs;
    const atMs = nowMs + ageMs;
    const asks = play([asking({}, { atMs })], { task: atWork(20_000), policy }).task;
    const answer = { user: "U1", atMs, option: 0, callId: "c-1" };
    const replied: Task = { ...asks, question: { ...(asks.question as NonNullable<Task["question"]>), answer } };
    const goesOn = play([{ ...accepted, act: "answer", nowMs: atMs }], { task: replied, policy });
    expect(goesOn.last).toEqual([{ type: "wake", delayMs: 500, jitterMs: 0 }]);
    expect(poll({ task: goesOn.task, ageMs: ageMs + 10_000 }).mostMs).toBe(2000);
    // Credentials come without a reply.
    const { answer: _none, ...open } = replied.question as NonNullable<Task["question"]>;
    const waiting: Task = { ...replied, question: { ...open, kind: "auth" } };
    const letIn = play([{ ...accepted, act: "poll", nowMs: atMs }], { task: waiting, policy });
    expect(letIn.last).toEqual([{ type: "wake", delayMs: 500, jitterMs: 0 }]);
  });

  it("is what the host asks for where that is longer, and never shorter than that", () => {
    const task = atWork(20_000);
    expect(poll({ task, ageMs: minuteMs, pollAfterMs: 45_000 })).toMatchObject({ leastMs: 45_000, mostMs: 45_000 });
    const news = { text: "half" };
    expect(poll({ task, ageMs: hourMs, pollAfterMs: 120_000, progress: news }).leastMs).toBe(120_000);
  });

  it("is half a minute at most where the destination holds polls for news", () => {
    const under = samplePolicy({ deadlineMs: 24 * hourMs, longPollMs: 20_000 });
    expect(poll({ task: atWork(20_000), ageMs: 8 * hourMs, under }).mostMs).toBe(30_000);
  });

  it("says in the record when the next poll is due", () => {
    const { task, leastMs } = poll({ task: atWork(20_000), ageMs: hourMs });
    expect(task.wait?.nextPollAtMs).toBe(nowMs + hourMs + leastMs);
  });
});

describe("the gap after a poll that brought news", () => {
  it("is half a minute at most, and a fifth of the age again as soon as a poll brings none", () => {
    const told = poll({ task: atWork(20_000), ageMs: hourMs, progress: { text: "half" } });
    expect(told).toMatchObject({ isShown: true, mostMs: 30_000 });
    const silent = poll({ task: told.task, ageMs: hourMs + 30_000, progress: { text: "half" } });
    expect(silent).toMatchObject({ isShown: false, mostMs: 10 * minuteMs });
  });

  it("is as short where the news cannot be shown yet, since they are to be shown later", () => {
    const told = poll({ task: atWork(20_000), ageMs: hourMs, progress: { text: "half" } });
    const soon = poll({ task: told.task, ageMs: hourMs + 999, progress: { text: "more" } });
    expect(soon).toMatchObject({ isShown: false, mostMs: 30_000 });
  });

  it("is the shortest while an answer is written, and as long as the pause where the agent makes one", () => {
    const told = poll({ task: atWork(20_000), ageMs: hourMs, progress: { partial_text: "A check" } });
    expect(told).toMatchObject({ isShown: true, leastMs: 500, mostMs: 500 });
    const pausedFor = (ms: number) =>
      poll({ task: told.task, ageMs: hourMs + ms, progress: { partial_text: "A check" } }).mostMs;
    expect([100, 2000, 40_000, hourMs].map(pausedFor)).toEqual([500, 2000, 40_000, 10 * minuteMs]);
    const goesOn = poll({ task: told.task, ageMs: hourMs + 40_000, progress: { partial_text: "A checkpoint" } });
    expect(goesOn).toMatchObject({ isShown: true, mostMs: 500 });
  });
});
