/** A session that may end before the task does refuses it: the task gets one of its own, once, and the thread keeps its session. */
import { describe, expect, it } from "@jest/globals";
import { takeAnswer } from "../../../lambdas/verification/task/asking.ts";
import type { TaskEvent } from "../../../lambdas/verification/task/events.ts";
import type { Policy } from "../../../lambdas/verification/task/routing.ts";
import { taskSchema } from "../../../lambdas/verification/task/task.ts";
import { accepted, ambiguous, announced, asking, failure, lookedUp, nowMs, play, success, woken } from "./play.ts";
import { samplePolicy, sampleTask } from "./sample.ts";

const refused = failure({ reason: "session_ending", retryable: true, undelivered: true });
const sent = [woken, announced, woken];
const unknown = lookedUp(failure({ reason: "task_not_found", retryable: false }));

describe("a session that refuses a task since it may end before", () => {
  it("is left for one of the task's own, which stands in the record before the task is sent there", () => {
    const before = play(sent).task;
    const { task, last } = play([refused], { task: before });
    expect(task.state).toBe("sent");
    expect(task.call?.sessionId).not.toBe(before.call?.sessionId);
    expect(taskSchema.parse(task).call?.sessionId).toBe(task.call?.sessionId);
    expect(last).toEqual([{ type: "wake", delayMs: 0 }]);
    const next = play([woken], { task });
    expect(next.last).toEqual([{ type: "send" }]);
    expect(next.task.call?.sessionId).toBe(task.call?.sessionId);
    // The host knows the repetition by what it says, and the agent knows its conversation.
    expect(next.task.call?.params).toEqual(before.call?.params);
    expect(next.task.call?.params?.session_id).toBe(before.call?.sessionId);
  });

  it("is no failure of the task: its polls and its end stay in the new session", () => {
    const { task } = play([...sent, refused, woken, accepted, woken]);
    expect(task).toMatchObject({ state: "waiting", attempts: 0, call: { arrival: "none", ownSessions: 1 } });
    expect(task.call?.sessionId).toBe(play([...sent, refused]).task.call?.sessionId);
    expect(play([{ ...success, act: "poll" }], { task }).task.outcome).toMatchObject({ type: "answer" });
  });

  it("is the thread's own for the next task again", () => {
    const first = play(sent).task;
    play([refused], { task: first });
    const id = "1d1c2b3a-4f5e-5a6b-8c7d-9e0f1a2b3c4d";
    const { message } = sampleTask();
    const reply = sampleTask({ id, message: { ...message, ts: "1760000100.000100", threadTs: message.ts } });
    expect(play(sent, { task: reply }).task.call?.sessionId).toBe(first.call?.sessionId);
  });

  it("ends the task in words where it was new: no session lives long enough", () => {
    const { task, last } = play([...sent, refused, woken, refused]);
    expect(task.outcome).toEqual({ type: "failed", reason: "session_ending", lost: false });
    expect(last).toEqual([{ type: "wake", delayMs: 0 }]);
  });

  it("does not make sure of what an earlier try came to", () => {
    const { task, last } = play([...sent, ambiguous, woken, unknown, refused, woken, unknown, refused]);
    expect(task.outcome).toEqual({ type: "failed", reason: "ambiguous", lost: false });
    expect(last).toEqual([{ type: "cancel" }]);
  });

  it("gets the task after a doubt too, once it was looked for", () => {
    const steps = play([...sent, ambiguous, woken, unknown, refused, woken]);
    expect(steps.last).toEqual([{ type: "poll", by: "request_id" }]);
    expect(play([unknown], { task: steps.task }).last).toEqual([{ type: "send" }]);
    expect(steps.task.call?.ownSessions).toBe(1);
  });

  it("is another one at another destination of the route", () => {
    const sample = samplePolicy();
    const host = sample.destinations.get("host");
    if (host === undefined) throw new Error("the sample has no destination");
    const both = new Map([
      ["first", host],
      ["second", host],
    ]);
    const policy: Policy = { ...sample, routeOf: () => ["first", "second"], destinations: both };
    const away = failure({ reason: "unavailable", retryable: true, undelivered: true });
    const stayed = play([...sent, refused, woken], { policy });
    expect(stayed.task.call?.destination).toBe("first");
    const moved = play([away, woken], { policy, task: stayed.task });
    expect(moved.task).toMatchObject({
      call: { destination: "second", sessionId: play(sent, { policy }).task.call?.sessionId },
    });
    expect(play([refused], { policy, task: moved.task }).task).toMatchObject({
      state: "sent",
      call: { ownSessions: 1 },
    });
  });

  describe("where the route has another destination", () => {
    const sample = samplePolicy();
    const host = sample.destinations.get("host");
    if (host === undefined) throw new Error("the sample has no destination");
    const both = new Map(["first", "second"].map((name) => [name, host]));
    const policy: Policy = { ...sample, routeOf: () => ["first", "second"], destinations: both };
    const away = failure({ reason: "unavailable", retryable: true, undelivered: true });

    it("moves the task there once a new session refused as well, and never back", () => {
      const { task, last } = play([...sent, refused, woken, refused], { policy });
      expect(task).toMatchObject({ state: "sent", call: { destination: "second", arrival: "none" } });
      expect(task.call?.sessionId).toBe(play(sent, { policy }).task.call?.sessionId);
      expect(last).toEqual([{ type: "wake", delayMs: 0 }]);
      expect(play([woken, accepted], { policy, task }).task).toMatchObject({
        state: "waiting",
        call: { destination: "second" },
      });
      expect(play([woken, away], { policy, task }).task.call?.destination).toBe("second");
    });

    it("ends the task where no session of the other lives long enough either", () => {
      const { task } = play([...sent, refused, woken, refused, woken, refused, woken, refused], { policy });
      expect(task.outcome).toEqual({ type: "failed", reason: "session_ending", lost: false });
    });

    it("leaves the task where it is once an earlier try may have arrived", () => {
      const { task } = play([...sent, ambiguous, woken, unknown, refused, woken, unknown, refused], { policy });
      expect(task).toMatchObject({ call: { destination: "first" }, outcome: { type: "failed", reason: "ambiguous" } });
    });
  });

  it.each([true, false])(
    "gives each of its own sessions to one task alone (stopAfterResult: %s)",
    (stopAfterResult) => {
      const policy = samplePolicy({ stopAfterResult });
      const first = play(sent, { policy }).task.call?.sessionId;
      const other = play([...sent, refused], { policy }).task.call?.sessionId;
      const { task } = play([...sent, refused, woken, accepted], { policy });
      const ids = new Set([
        first,
        other,
        play([...sent, refused], { policy, task: sampleTask({ id: task.thread }) }).task.call?.sessionId,
      ]);
      expect(ids.size).toBe(3);
    },
  );
});

describe("a session that refuses an answer", () => {
  const shown: TaskEvent = { type: "question_asked", nowMs, ts: "2.1" };
  const questionShown: TaskEvent = { type: "question_shown", nowMs };
  const refusedAnswer = { ...refused, act: "answer" } as const;

  function answered(events: readonly TaskEvent[]) {
    const open = play(events).task;
    const answer = { user: "U1", atMs: nowMs + 5000, option: 0, callId: "call-1" };
    const taken = takeAnswer({ task: open, answer, nowMs: nowMs + 5000 });
    if ("notTaken" in taken) throw new Error(`not taken: ${taken.notTaken.type}`);
    return play([woken, questionShown], { task: taken.task });
  }

  it("is left too: the same answer goes to a new session under its own id, even after a new one before", () => {
    for (const begun of [[], [refused, woken]]) {
      const { task, last } = answered([...sent, ...begun, asking({}, { act: "send" }), woken, shown]);
      expect(last).toEqual([{ type: "answer" }]);
      const moved = play([refusedAnswer, woken, questionShown], { task });
      expect(moved.last).toEqual([{ type: "answer" }]);
      expect(moved.task.call?.sessionId).not.toBe(task.call?.sessionId);
      expect(moved.task.question).toEqual(task.question);
      const ended = play([refusedAnswer], { task: moved.task });
      expect(ended.task.outcome).toMatchObject({ type: "failed", reason: "session_ending" });
      expect(ended.last).toEqual([{ type: "cancel" }]);
    }
  });
});
