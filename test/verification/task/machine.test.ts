/** The stories of a task, sends in doubt, deadlines, and dead letters. */
import { describe, expect, it } from "@jest/globals";
import type { TaskEvent } from "../../../lambdas/verification/task/events.ts";
import {
  accepted,
  ambiguous,
  announced,
  failure,
  lookedUp,
  nowMs,
  play,
  resumed,
  success,
  unavailable,
  woken,
} from "./play.ts";
import { askedAtMs, samplePolicy, sampleTask } from "./sample.ts";

describe("the stories of a task", () => {
  it("goes from received over announced and sent to an answer that is delivered and swept", () => {
    const { task, asked } = play([
      woken,
      announced,
      woken,
      success,
      woken,
      { type: "delivered" },
      woken,
      { type: "cleaned_up" },
    ]);
    expect(asked.map((effects) => effects.map(({ type }) => type))).toEqual([
      ["announce"],
      ["wake"],
      ["send"],
      ["wake"],
      ["deliver"],
      ["wake"],
      ["clean_up"],
      [],
    ]);
    expect(task).toMatchObject({ state: "done", cleanupDone: true });
  });

  it("polls an accepted task by its id until the result is there", () => {
    const { task, asked } = play([woken, announced, woken, accepted, woken, success]);
    expect(asked[4]).toEqual([{ type: "poll", by: "task_id" }]);
    expect(task).toMatchObject({ state: "delivering", outcome: { type: "answer", text: "A checkpoint." } });
  });

  it("refuses a person who is not allowed: the task is over, without a post and without sending", () => {
    const refused = [woken, { type: "permitted", nowMs, allowed: false, locale: "ja" }] as const;
    expect(play(refused)).toMatchObject({
      task: { outcome: { type: "refused" }, locale: "ja" },
      last: [{ type: "refuse" }],
    });
    const { task, last } = play([...refused, { type: "refusal_shown" }, { type: "thread_left" }]);
    expect(task).toMatchObject({
      state: "done",
      cleanupDone: true,
      outcome: { type: "refused" },
      message: { text: "" },
    });
    expect(last).toEqual([]);
    const again = play([{ type: "redriven", nowMs, resumed: false }], { task });
    expect([again.task.state, again.last]).toEqual(["done", []]);
  });

  it("apologises for a message older than a day and never executes it", () => {
    const late = { ...woken, nowMs: askedAtMs + 24 * 3600_000 + 1001 };
    expect(play([late]).task.outcome).toEqual({ type: "too_old" });
  });

  it("says so where no route fits", () => {
    const { task } = play([woken], { policy: samplePolicy({ routed: false }) });
    expect(task.outcome).toEqual({ type: "failed", reason: "agent_not_found", lost: false });
  });

  it("says so where there is nothing to send, or more than can be sent", () => {
    for (const [text, reason] of [
      ["", "invalid_params"],
      ["a".repeat(40_001), "payload_too_large"],
    ] as const) {
      const task = sampleTask({ message: { ...sampleTask().message, text } });
      expect(play([woken], { task }).task.outcome).toMatchObject({ type: "failed", reason });
    }
  });

  it("ends a session of its own when the task is over, if the destination says so", () => {
    const policy = samplePolicy({ stopAfterResult: true });
    const { last, task } = play([woken, announced, woken, success, woken, { type: "delivered" }], { policy });
    expect(last.map(({ type }) => type)).toEqual(["stop_session", "wake"]);
    expect(task.call?.sessionId).not.toBe(play([woken]).task.call?.sessionId);
  });

  it("forgets the texts when the task is over, and keeps the ids", () => {
    const { task } = play([
      woken,
      announced,
      woken,
      success,
      woken,
      { type: "delivered" },
      woken,
      { type: "cleaned_up" },
    ]);
    expect(JSON.stringify(task)).not.toContain("sekisho?");
    expect(JSON.stringify(task)).not.toContain("A checkpoint.");
    expect(task.id).toBe(sampleTask().id);
  });
});

describe("a send of which nobody knows whether it arrived", () => {
  const unknown = lookedUp(failure({ reason: "task_not_found", retryable: false }));

  it("is looked up by the request id first, and repeated with the stored params where an idempotent peer does not know it", () => {
    const first = play([woken, announced, woken]);
    const again = play([ambiguous, woken, unknown], { task: first.task });
    expect(again.asked[1]).toEqual([{ type: "poll", by: "request_id" }]);
    expect(again.last).toEqual([{ type: "send" }]);
    expect(again.task.call?.params).toEqual(first.task.call?.params);
  });

  it("goes on as accepted where the look-up finds the task at work", () => {
    expect(play([woken, announced, woken, ambiguous, woken, accepted]).task).toMatchObject({
      state: "waiting",
      call: { taskId: "t-1" },
    });
  });

  it("is never repeated at a peer that is not idempotent: the user reads that the task may have run", () => {
    const policy = samplePolicy({ idempotent: false });
    const { task, asked } = play([woken, announced, woken, ambiguous, woken, unknown], { policy });
    expect(asked[4]).toEqual([{ type: "poll", by: "request_id" }]);
    expect(task.outcome).toMatchObject({ reason: "ambiguous" });
  });

  it("is what a worker leaves behind that died in the act of sending", () => {
    const { task } = play([woken, announced, woken]);
    expect(play([resumed], { task }).last).toEqual([{ type: "poll", by: "request_id" }]);
  });

  it("is not repeated after the deadline, however late the worker comes back", () => {
    const { task } = play([woken, announced, woken]);
    const days = { ...resumed, nowMs: nowMs + 3 * 24 * 3600_000 };
    const late = { ...unknown, nowMs: days.nowMs };
    expect(play([days, late], { task }).task.outcome).toMatchObject({ type: "failed", reason: "timeout" });
    const certain = play([woken, announced, woken, unavailable]).task;
    const over = play([{ ...days, resumed: false }], { task: certain });
    expect(over.task.outcome).toMatchObject({ reason: "unavailable" });
    expect(over.last).toEqual([{ type: "cancel" }]);
  });

  it("stays in doubt when the look-ups fail or the repetition is refused", () => {
    let { task } = play([woken, announced, woken, ambiguous]);
    for (let i = 0; i < 10 && task.state === "sent"; i++) task = play([woken, lookedUp(unavailable)], { task }).task;
    expect(task.outcome).toMatchObject({ type: "failed", reason: "ambiguous" });
    const refused = failure({ reason: "permission_denied", retryable: false });
    expect(play([woken, announced, woken, ambiguous, woken, unknown, refused]).task.outcome).toMatchObject({
      reason: "ambiguous",
    });
  });
});

describe("the deadline", () => {
  const late = { ...woken, nowMs: nowMs + 60_000 + 15_000 };
  const waiting = () => play([woken, announced, woken, accepted]).task;

  it("cancels the task at the host and tells the user that it took too long", () => {
    const { task, asked } = play([late, { type: "canceled", nowMs: late.nowMs }], { task: waiting() });
    expect(asked[0]).toEqual([{ type: "cancel" }]);
    expect(task.outcome).toMatchObject({ type: "failed", reason: "timeout" });
  });

  it("still takes the result of a task that had ended when it was to be canceled", () => {
    const ended = { ...failure({ reason: "invalid_state", retryable: false }, late.nowMs), act: "cancel" } as const;
    const polledInVain = play([woken, lookedUp(unavailable)], { task: waiting() }).task;
    const { task, asked } = play([late, ended, success], { task: polledInVain });
    expect(asked[1]).toEqual([{ type: "poll", by: "task_id" }]);
    expect(task.outcome).toMatchObject({ type: "answer" });
  });

  it("does not lose the result of such a task to one poll that fails", () => {
    const ended = { ...failure({ reason: "invalid_state", retryable: false }, late.nowMs), act: "cancel" } as const;
    const away = { ...lookedUp(ambiguous), nowMs: late.nowMs };
    const again = play([late, ended, away], { task: waiting() });
    expect(again.last).toMatchObject([{ type: "wake" }]);
    expect(play([late, ended, success], { task: again.task }).task.outcome).toMatchObject({ type: "answer" });
    let { task } = again;
    for (let i = 0; i < 10 && task.state === "waiting"; i++) task = play([late, ended, away], { task }).task;
    expect(task.outcome).toMatchObject({ type: "failed", reason: "timeout" });
  });

  it("holds although the host cannot be reached", () => {
    const away = { ...unavailable, act: "cancel", nowMs: late.nowMs } as const;
    const first = play([late, away], { task: waiting() });
    expect(first.last).toMatchObject([{ type: "wake" }]);
    const { task } = play([late, away], { task: first.task });
    expect(task.outcome).toMatchObject({ type: "failed", reason: "timeout" });
  });
});

describe("a dead letter", () => {
  it("becomes a failure in words while the outcome is open", () => {
    const { task, last } = play([woken, announced, { type: "dead_lettered", nowMs }]);
    expect(task.outcome).toMatchObject({ type: "failed", reason: "internal" });
    expect(last).toEqual([{ type: "wake", delayMs: 0 }]);
  });

  it("says that the task may have run once it was sent, and asks the host to cancel it, whatever that comes to", () => {
    const buried = play([woken, announced, woken, { type: "dead_lettered", nowMs }]);
    expect(buried.last).toEqual([{ type: "cancel" }]);
    const ended = failure({ reason: "invalid_state", retryable: false });
    const refusals = [ambiguous, unavailable, ended].map((event): TaskEvent => ({ ...event, act: "cancel" }));
    for (const event of [{ type: "canceled", nowMs } as const, ...refusals]) {
      const { task, last } = play([event], { task: buried.task });
      expect(task).toMatchObject({ state: "delivering", outcome: { type: "failed", reason: "ambiguous" } });
      expect(last).toEqual([{ type: "wake", delayMs: 0 }]);
    }
  });

  it("looks into the thread before it is told, since a worker may have died of the announcement", () => {
    expect(play([woken, { type: "dead_lettered", nowMs }, woken]).last).toEqual([{ type: "deliver", reconcile: true }]);
  });

  it("never replaces an outcome that is being delivered, and the next try looks first", () => {
    const { task, asked } = play([woken, announced, woken, success, { type: "dead_lettered", nowMs }, woken]);
    expect(task.outcome).toMatchObject({ type: "answer" });
    expect(asked[4]).toMatchObject([{ type: "wake" }]);
    expect(asked[5]).toEqual([{ type: "deliver", reconcile: true }]);
  });
});
