/** The gaps between the polls of one task: they grow with its age, and are short where somebody waits for what is new. */
import { describe, expect, it } from "@jest/globals";
import type { TaskResult } from "@sekisho/contracts/methods.ts";
import {
  answerBytesMember,
  type ProgressShown,
  type TaskEvent,
} from "@sekisho/verification/task/events.ts";
import { waitOf } from "@sekisho/verification/task/polls.ts";
import { type Policy, withCall } from "@sekisho/verification/task/routing.ts";
import type { Task } from "@sekisho/verification/task/task.ts";
import { tokensOf } from "@sekisho/verification/task/token-usage.ts";
import fc from "fast-check";
import { forAll } from "../../doubles/for-all.ts";
import {
  accepted,
  announced,
  asking,
  nowMs,
  play,
  success,
  unavailable,
  woken,
  workerDied,
} from "./play.ts";
import { samplePolicy } from "./sample.ts";

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

/** A deadline that comes in no story. */
const policy = samplePolicy({ deadlineMs: 24 * hourMs });
const sentTask = play([woken, announced, woken], { policy }).task;
type Progress = Extract<TaskResult, { status: "accepted" }>["progress"];

/** It was accepted when it was as old as that, and has been polled often. */
function atWork(ageMs: number, changes: Partial<Task> = {}): Task {
  const { task } = play([{ ...accepted, nowMs: nowMs + ageMs }], { task: sentTask, policy });
  return { ...task, wait: { ...waitOf(task), polls: 100 }, ...changes };
}

/** Its destination holds polls for news. */
const holding = samplePolicy({ deadlineMs: 24 * hourMs, longPollMs: 20_000 });

/** One poll that is answered at that age, and the gap after it: the shortest and the longest that chance may make of it. */
type Polled = {
  task: Task;
  ageMs: number;
  heldMs?: number;
  progress?: Progress;
  pollAfterMs?: number;
  answerBytes?: number;
  under?: Policy;
  shown?: ProgressShown;
};

function poll({
  task,
  ageMs,
  heldMs = 0,
  progress,
  pollAfterMs,
  answerBytes,
  under = policy,
  shown = {},
}: Polled) {
  const atMs = nowMs + ageMs;
  const result = {
    ...accepted.result,
    ...(pollAfterMs !== undefined && { poll_after_ms: pollAfterMs }),
    ...(progress && { progress }),
    ...(answerBytes !== undefined && { [answerBytesMember]: answerBytes }),
  };
  const events: TaskEvent[] = [
    { ...woken, nowMs: atMs - heldMs },
    { ...accepted, act: "poll", nowMs: atMs, result },
  ];
  const pollStep = play(events, { task, policy: under });
  const isShown = pollStep.last[0]?.type === "show_progress";
  const showing: TaskEvent = { type: "progress_shown", nowMs: atMs, shown };
  const { task: nextTask, last } = isShown
    ? play([showing], { task: pollStep.task, policy: under })
    : pollStep;
  const [wake] = last;
  if (wake?.type !== "wake") throw new Error("it is not polled again");
  const leastMs = wake.delayMs;
  return { task: nextTask, wake, leastMs, mostMs: leastMs + (wake.jitterMs ?? 0), isShown };
}

describe("the gap after a large answer", () => {
  it.each([
    [100_000, 2000],
    [1024 * 1024, 20_971],
  ])(
    "lengthens the poll gap after an answer of %p bytes, despite the host's advice",
    (answerBytes, gapMs) => {
      const hostile = { ageMs: minuteMs, pollAfterMs: 100, under: holding };
      const large = poll({
        ...hostile,
        task: atWork(20_000),
        progress: { text: "Still at it." },
        answerBytes,
      });
      expect(large.leastMs).toBe(gapMs);
      const small = poll({
        ...hostile,
        task: large.task,
        ageMs: 2 * minuteMs,
        progress: { text: "Nearly." },
      });
      expect(small.leastMs).toBe(1000);
    },
  );

  it("stores the gap after a large answer, so that a push does not bring the next poll forward", () => {
    const task = atWork(20_000);
    const large = poll({ task, ageMs: minuteMs, answerBytes: 100_000 });
    expect(large.task.wait).toMatchObject({ minPollGapMs: 2000, polledAtMs: nowMs + minuteMs });
    expect(large.wake).not.toHaveProperty("polls");
  });
});

describe("the gap between two polls of a task without news", () => {
  it("limits the poll gap to a fifth of the task's age and ten minutes", () => {
    const task = atWork(20_000);
    const mostAt = (ageMs: number) => poll({ task, ageMs }).mostMs;
    expect([minuteMs, 10 * minuteMs, hourMs, 8 * hourMs].map(mostAt)).toEqual([
      12_000,
      2 * minuteMs,
      10 * minuteMs,
      10 * minuteMs,
    ]);
  });

  it("shortens the poll gap after a question was answered, even for an old task", () => {
    const ageMs = 8 * hourMs;
    const atMs = nowMs + ageMs;
    const asks = play([asking({}, { atMs })], { task: atWork(20_000), policy }).task;
    const answer = { user: "U1", atMs, option: 0, callId: "c-1" };
    const replied: Task = {
      ...asks,
      question: { ...(asks.question as NonNullable<Task["question"]>), answer },
    };
    const goesOn = play([{ ...accepted, act: "answer", nowMs: atMs }], { task: replied, policy });
    expect(goesOn.last).toEqual([{ type: "wake", delayMs: 500, jitterMs: 0 }]);
    expect(poll({ task: goesOn.task, ageMs: ageMs + 10_000 }).mostMs).toBe(2000);
    // Credentials come without a reply.
    const { answer: _none, ...open } = replied.question as NonNullable<Task["question"]>;
    const waiting: Task = { ...replied, question: { ...open, kind: "auth" } };
    const goesOnUnasked = { ...accepted, act: "poll", nowMs: atMs } as const;
    const progressShown: TaskEvent = { type: "progress_shown", nowMs: atMs, shown: {} };
    expect(play([goesOnUnasked], { task: waiting, policy }).last).toEqual([
      { type: "show_progress" },
    ]);
    const letIn = play([goesOnUnasked, progressShown], { task: waiting, policy });
    expect(letIn.last).toEqual([{ type: "wake", delayMs: 1000, jitterMs: 0 }]);
  });

  it("obeys a longer poll gap that the host asks for", () => {
    const task = atWork(20_000);
    expect(poll({ task, ageMs: minuteMs, pollAfterMs: 45_000 })).toMatchObject({
      leastMs: 45_000,
      mostMs: 45_000,
    });
    const news = { text: "half" };
    expect(poll({ task, ageMs: hourMs, pollAfterMs: 120_000, progress: news }).leastMs).toBe(
      120_000,
    );
  });

  it("limits the poll gap to the destination's maximum, unless the host asks for more", () => {
    forAll(
      fc.nat({ max: 8 * hourMs }),
      fc.integer({ min: 30_000, max: hourMs }),
      fc.boolean(),
    ).hold((ageMs, maxPollGapMs, isHolding) => {
      const under = samplePolicy({
        deadlineMs: 24 * hourMs,
        maxPollGapMs,
        longPollMs: isHolding ? 20_000 : 0,
      });
      const task = atWork(20_000);
      expect(poll({ task, ageMs, under }).mostMs).toBeLessThanOrEqual(maxPollGapMs);
      expect(poll({ task, ageMs, under, pollAfterMs: 900_000 }).leastMs).toBe(900_000);
    });
  });

  it("limits the poll gap to the destination's maximum after failed polls too", () => {
    const under = samplePolicy({ deadlineMs: 24 * hourMs, maxPollGapMs: 30_000 });
    const fail = (retryAfterMs?: number) => {
      const failedPoll: TaskEvent = { ...unavailable, act: "poll", nowMs: nowMs + hourMs };
      const error = { ...failedPoll.error, ...(retryAfterMs !== undefined && { retryAfterMs }) };
      const { last } = play([{ ...failedPoll, error }], {
        task: { ...atWork(20_000), attempts: 8 },
        policy: under,
      });
      const [wake] = last;
      return wake?.type === "wake" ? wake.delayMs + (wake.jitterMs ?? 0) : undefined;
    };
    expect(fail()).toBe(30_000);
    expect(fail(40_000)).toBe(60_000);
  });

  it("limits the poll gap to 30 seconds if the destination does not hold polls as it should", () => {
    expect(poll({ task: atWork(20_000), ageMs: 8 * hourMs, under: holding }).mostMs).toBe(30_000);
  });

  it("uses the shortest poll gap after a poll that the destination held to its end", () => {
    const at = { task: atWork(20_000), ageMs: 8 * hourMs, under: holding, pollAfterMs: 250 };
    expect(poll({ ...at, heldMs: 20_000 })).toMatchObject({ leastMs: 250, mostMs: 250 });
    expect(poll({ ...at, heldMs: 19_999 }).mostMs).toBe(30_000);
  });

  it("records when the next poll is due", () => {
    const { task, leastMs } = poll({ task: atWork(20_000), ageMs: hourMs });
    expect(task.wait?.nextPollAtMs).toBe(nowMs + hourMs + leastMs);
  });
});

describe("the gap after a poll that brought news", () => {
  it("limits the poll gap to 30 seconds after news and returns to a fifth of the age afterwards", () => {
    const firstPoll = poll({ task: atWork(20_000), ageMs: hourMs, progress: { text: "half" } });
    expect(firstPoll).toMatchObject({ isShown: true, mostMs: 30_000 });
    const silent = poll({
      task: firstPoll.task,
      ageMs: hourMs + 30_000,
      progress: { text: "half" },
    });
    expect(silent).toMatchObject({ isShown: false, mostMs: 10 * minuteMs });
  });

  it("uses the shortest poll gap while news cannot be shown yet", () => {
    const firstPoll = poll({ task: atWork(20_000), ageMs: hourMs, progress: { text: "half" } });
    const soon = poll({ task: firstPoll.task, ageMs: hourMs + 999, progress: { text: "more" } });
    expect(soon).toMatchObject({ isShown: false, mostMs: 500 });
    expect(
      poll({ task: soon.task, ageMs: hourMs + 1499, progress: { text: "more" } }).isShown,
    ).toBe(true);
  });

  it("polls again as soon as the thread can be edited if the destination holds polls for news", () => {
    const firstPoll = poll({
      task: atWork(20_000),
      ageMs: hourMs,
      progress: { text: "half" },
      under: holding,
    });
    expect(firstPoll).toMatchObject({ isShown: true, leastMs: 1000, mostMs: 1000 });
  });

  it("polls when delayed progress can be shown, but at least every second, as an answer may come", () => {
    const writtenProgress = { ageMs: hourMs, progress: { partial_text: "A check" } };
    const later = poll({ task: atWork(20_000), ...writtenProgress, shown: { delayMs: 2600 } });
    expect(later).toMatchObject({ isShown: true, mostMs: 1000 });
    const again = poll({ task: later.task, ...writtenProgress, ageMs: hourMs + 1000 });
    expect(again).toMatchObject({ isShown: false, mostMs: 1000 });
    const last = poll({ task: again.task, ...writtenProgress, ageMs: hourMs + 2000 });
    expect(last).toMatchObject({ isShown: false, mostMs: 600 });
    // Nothing more was written meanwhile.
    const shownPoll = poll({ task: last.task, ...writtenProgress, ageMs: hourMs + 2600 });
    expect(shownPoll).toMatchObject({ isShown: true, mostMs: 1000 });
    expect(poll({ task: shownPoll.task, ...writtenProgress, ageMs: hourMs + 3600 }).isShown).toBe(
      false,
    );
  });

  it("uses the shortest poll gap while an answer is written and the length of a pause during one", () => {
    const firstPoll = poll({
      task: atWork(20_000),
      ageMs: hourMs,
      progress: { partial_text: "A check" },
    });
    // The thread may not be changed before.
    expect(firstPoll).toMatchObject({ isShown: true, leastMs: 1000, mostMs: 1000 });
    const pausedFor = (ms: number) =>
      poll({ task: firstPoll.task, ageMs: hourMs + ms, progress: { partial_text: "A check" } })
        .mostMs;
    expect([100, 2000, 40_000, hourMs].map(pausedFor)).toEqual([500, 2000, 40_000, 10 * minuteMs]);
    const goesOn = poll({
      task: firstPoll.task,
      ageMs: hourMs + 40_000,
      progress: { partial_text: "A checkpoint" },
    });
    expect(goesOn).toMatchObject({ isShown: true, mostMs: 1000 });
  });
});

const waiting = play([woken, announced, woken, accepted]).task;

function acceptedAt(
  progress: { text?: string; percent?: number; partial_text?: string },
  atMs: number,
): TaskEvent {
  return { ...accepted, act: "poll", nowMs: atMs, result: { ...accepted.result, progress } };
}

const wokenAt = (atMs: number): TaskEvent => ({ ...woken, nowMs: atMs });

const shownAt = (atMs: number, shown: ProgressShown = {}): TaskEvent => ({
  type: "progress_shown",
  nowMs: atMs,
  shown,
});

/** The thread shows it since `nowMs`. */
const showing = (shownProgress: ProgressShown = {}, progress = { text: "half" }): Task =>
  play([woken, acceptedAt(progress, nowMs), shownAt(nowMs, shownProgress)], { task: waiting }).task;

describe("progress", () => {
  it("shows progress that is new and then continues polling", () => {
    const first = play([woken, acceptedAt({ text: "half", percent: 50 }, nowMs)], {
      task: waiting,
    });
    expect(first.last).toEqual([{ type: "show_progress" }]);
    expect(first.task.progress).toMatchObject({ text: "half", percent: 50, shownAtMs: nowMs });
    const polledOn = play([shownAt(nowMs)], { task: first.task });
    expect(polledOn.last).toMatchObject([{ type: "wake" }]);
    const same = play(
      [wokenAt(nowMs + 5000), acceptedAt({ text: "half", percent: 50 }, nowMs + 5000)],
      {
        task: polledOn.task,
      },
    );
    expect(same.last).toMatchObject([{ type: "wake" }]);
  });

  it("shows delayed progress as soon as Slack allows the edit", () => {
    const lastAt = (ms: number) =>
      play([wokenAt(nowMs + ms), acceptedAt({ text: "more" }, nowMs + ms)], {
        task: showing({ delayMs: 300 }),
      }).last;
    expect(lastAt(299)).toMatchObject([{ type: "wake" }]);
    expect(lastAt(300)).toEqual([{ type: "show_progress" }]);
  });

  it("waits a second between progress and the answer, so that an edit of the placeholder never comes last", () => {
    const answeredStep = play([wokenAt(nowMs + 300), { ...success, nowMs: nowMs + 300 }], {
      task: showing(),
    });
    const early = play([wokenAt(nowMs + 300)], { task: answeredStep.task });
    expect(early.last).toEqual([{ type: "wake", delayMs: 700 }]);
    expect(play([wokenAt(nowMs + 1000)], { task: early.task }).last).toMatchObject([
      { type: "deliver" },
    ]);
    const slowTask = { ...answeredStep.task, progress: { shownAtMs: nowMs + 30_000 } };
    expect(play([wokenAt(nowMs + 300)], { task: slowTask }).last).toEqual([
      { type: "wake", delayMs: 1000 },
    ]);
  });

  it("remembers that an edit may still arrive even if the next one succeeds", () => {
    const doubt = showing({ inDoubt: true });
    const later = [
      wokenAt(nowMs + 5000),
      acceptedAt({ text: "more" }, nowMs + 5000),
      shownAt(nowMs + 5000),
    ];
    expect(play(later, { task: doubt }).task.progress).toMatchObject({
      text: "more",
      inDoubt: true,
    });
  });
});

describe("a stream", () => {
  it("treats a stream that a dead worker may have begun as in doubt", () => {
    const partial = play([woken, acceptedAt({ partial_text: "A check" }, nowMs)], {
      task: waiting,
    }).task;
    expect(play([workerDied], { task: partial }).task.stream).toEqual({
      messages: [],
      length: 0,
      inDoubt: true,
    });
    // What the worker that died had heard from the host is in no record.
    expect(play([workerDied], { task: waiting }).task.stream?.inDoubt).toBe(true);
    expect(play([woken], { task: waiting }).task.stream).toBeUndefined();
    const late: TaskEvent = { ...workerDied, nowMs: nowMs + 24 * 3600_000 };
    expect(
      play([late], { task: withCall(waiting, { deadlineAtMs: nowMs }) }).task.stream?.inDoubt,
    ).toBe(true);
    const cancel: TaskEvent = { type: "cancel_asked", nowMs, workerDied: true };
    expect(play([cancel], { task: waiting }).task.stream?.inDoubt).toBe(true);
    const heldTask = { ...waiting, lease: { owner: "w", untilMs: nowMs - 1 } };
    const dead: TaskEvent = { type: "dead_lettered", nowMs: nowMs + 3600_000 };
    expect(play([dead], { task: heldTask }).task.stream?.inDoubt).toBe(true);
  });
});

describe("the placeholder of a task that waited", () => {
  it("updates the placeholder when the turn of a queued task comes", () => {
    const ahead: TaskEvent = {
      type: "thread_joined",
      nowMs,
      queuePosition: 1,
      freeAtMs: nowMs + 1000,
      routes: [],
    };
    const queuedTask = play([woken, ahead, announced]).task;
    expect(queuedTask.state).toBe("queued");
    const begunStep = play([woken, shownAt(nowMs)], { task: queuedTask });
    expect(begunStep.asked[0]).toEqual([{ type: "show_progress" }]);
    expect(begunStep.task.state).toBe("announced");
    expect(play([woken], { task: begunStep.task }).last).toEqual([{ type: "send" }]);
  });
});

describe("the token usage of an agent", () => {
  it.each([
    [
      "the contract's names",
      { input_tokens: 3, output_tokens: 4 },
      { input: 3, output: 4, total: 7 },
    ],
    [
      "the names of chat completions",
      { prompt_tokens: 3, completion_tokens: 4, total_tokens: 9 },
      { input: 3, output: 4, total: 9 },
    ],
    [
      "Bedrock's names",
      { inputTokens: 3, outputTokens: 4, totalTokens: 7 },
      { input: 3, output: 4, total: 7 },
    ],
    [
      "Gemini's names",
      { promptTokenCount: 3, candidatesTokenCount: 4, totalTokenCount: 7 },
      { input: 3, output: 4, total: 7 },
    ],
    ["one side only", { output_tokens: 0 }, { output: 0, total: 0 }],
    [
      "valid counts beside invalid ones",
      { input_tokens: 1, model: "m", cost: 0.1 },
      { input: 1, total: 1 },
    ],
  ])("reads the token usage from %s", (_, usage, tokens) => {
    expect(tokensOf(usage)).toEqual(tokens);
  });

  it.each([
    ["nothing", undefined],
    ["unrelated members", { seconds: 3, tools: ["a"] }],
    ["strings", { input_tokens: "3" }],
    ["invalid counts", { input_tokens: -1, output_tokens: 0.5, total_tokens: Number.NaN }],
  ])("returns no token usage for %s", (_, usage) => {
    expect(tokensOf(usage)).toBeUndefined();
  });

  it("returns only safe integers as token counts for any input and never throws", () => {
    const names = fc.constantFrom(
      "input_tokens",
      "prompt_tokens",
      "OutputTokens",
      "total-tokens",
      "__proto__",
      "x",
    );
    forAll(fc.dictionary(names, fc.anything())).hold((usage) => {
      for (const count of Object.values(tokensOf(usage) ?? {}))
        expect(Number.isSafeInteger(count)).toBe(true);
    });
  });
});
