import { describe, expect, it } from "@jest/globals";
import { reasons, SekishoError } from "../../../contracts/errors.ts";
import type { CallFailure, TaskEffect, TaskEvent } from "../../../lambdas/verification/task/events.ts";
import { next } from "../../../lambdas/verification/task/machine.ts";
import type { Policy } from "../../../lambdas/verification/task/policy.ts";
import type { Task } from "../../../lambdas/verification/task/task.ts";
import { askedAtMs, samplePolicy, sampleTask } from "./sample.ts";

const nowMs = askedAtMs + 1000;
const woken = { type: "woken", nowMs, resumed: false } as const;
const resumed = { type: "woken", nowMs, resumed: true } as const;
const announced = { type: "announced", nowMs, ts: "1.1" } as const;
const success = { type: "answered", nowMs, result: { status: "success", response_text: "A checkpoint." } } as const;
const accepted = { type: "answered", nowMs, result: { status: "accepted", task_id: "t-1" } } as const;
type Failure = Extract<TaskEvent, { type: "call_failed" }>;

const ambiguous = failure({ reason: "ambiguous", retryable: false });
const unavailable = failure({ reason: "unavailable", retryable: true });

function alone(atMs: number): TaskEvent {
  return { type: "lined_up", nowMs: atMs, ahead: 0, freeAtMs: atMs };
}

function failure(error: Omit<CallFailure, "lost"> & { lost?: boolean }, atMs = nowMs): Failure {
  return { type: "call_failed", nowMs: atMs, act: "send", error: { lost: false, ...error } };
}

/** The same as the answer to a look-up. */
function lookedUp(event: Failure): Failure {
  return { ...event, act: "poll" };
}

/** Lets the events happen one after the other, in a thread with nobody else; gives the record and what each step asked for. */
function play(
  events: TaskEvent[],
  { task = sampleTask(), policy = samplePolicy() }: { task?: Task; policy?: Policy } = {},
) {
  const asked: TaskEffect[][] = [];
  let current = task;
  for (const event of events) {
    let step = next({ task: current, event, policy });
    const [effect] = step.effects;
    const atMs = "nowMs" in event ? event.nowMs : nowMs;
    if (effect?.type === "line_up") step = next({ task: step.task, event: alone(atMs), policy });
    if (effect?.type === "leave_thread") step = next({ task: step.task, event: { type: "left_thread" }, policy });
    current = step.task;
    asked.push(step.effects);
  }
  return { task: current, asked, last: asked.at(-1) ?? [] };
}

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
      { type: "swept" },
    ]);
    expect(asked.map((effects) => effects.map(({ type }) => type))).toEqual([
      ["announce"],
      ["wake"],
      ["send"],
      ["wake"],
      ["deliver"],
      ["wake"],
      ["sweep"],
      [],
    ]);
    expect(task).toMatchObject({ state: "done", swept: true });
  });

  it("polls an accepted task by its id, later and later, until the result is there", () => {
    const { task, asked } = play([woken, announced, woken, accepted, woken, accepted, woken, accepted, woken, success]);
    expect(asked[4]).toEqual([{ type: "poll", by: "task_id" }]);
    const delays = [asked[3], asked[5], asked[7]]
      .map((effects) => effects?.[0])
      .map((effect) => (effect?.type === "wake" ? effect.delayMs + (effect.jitterMs ?? 0) : -1));
    expect(delays).toEqual([...delays].sort((a, b) => a - b));
    expect(new Set(delays).size).toBe(3);
    expect(task).toMatchObject({ state: "delivering", outcome: { type: "answer", text: "A checkpoint." } });
  });

  it("refuses a person who is not allowed, without a placeholder and without sending", () => {
    const { task, last } = play([woken], { policy: samplePolicy({ allowed: false }) });
    expect(task).toMatchObject({ state: "delivering", outcome: { type: "refused" } });
    expect(last).toEqual([{ type: "wake", delayMs: 0 }]);
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

  it("takes a question of the agent as its answer", () => {
    const question = {
      type: "answered",
      nowMs,
      result: { status: "input_required", task_id: "t", prompt: "Which one?" },
    } as const;
    expect(play([woken, announced, woken, question]).task.outcome).toEqual({ type: "answer", text: "Which one?" });
  });

  it("ends a session of its own when the task is over, if the destination says so", () => {
    const policy = samplePolicy({ stopAfterResult: true });
    const { last, task } = play([woken, announced, woken, success, woken, { type: "delivered" }], { policy });
    expect(last.map(({ type }) => type)).toEqual(["stop_session", "wake"]);
    expect(task.sessionId).not.toBe(play([woken]).task.sessionId);
  });

  it("forgets the texts when the task is over, and keeps the ids", () => {
    const { task } = play([woken, announced, woken, success, woken, { type: "delivered" }, woken, { type: "swept" }]);
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
    expect(again.task.params).toEqual(first.task.params);
  });

  it("goes on as accepted where the look-up finds the task at work", () => {
    expect(play([woken, announced, woken, ambiguous, woken, accepted]).task).toMatchObject({
      state: "waiting",
      taskId: "t-1",
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

describe("failures of the Execution zone", () => {
  it("are told at once where repeating cannot help", () => {
    for (const reason of reasons.filter((name) => !new SekishoError(name).retryable && name !== "invalid_response")) {
      const { task } = play([woken, announced, woken, failure({ reason, retryable: false })]);
      expect(task.outcome).toEqual({ type: "failed", reason, lost: false });
    }
  });

  it("are looked into where the answer breaks the contract: the agent may be at work; a wrong address is told within seconds", () => {
    const broken = failure({ reason: "invalid_response", retryable: false });
    const sent = play([woken, announced, woken, broken]);
    expect(sent.task).toMatchObject({ state: "sent", mayHaveArrived: true });
    expect(play([woken, accepted], { task: sent.task }).task.state).toBe("waiting");
    const nobody = play([woken, lookedUp(broken), woken, lookedUp(broken), woken, lookedUp(broken)], {
      task: sent.task,
    });
    expect(nobody.task.outcome).toMatchObject({ reason: "invalid_response" });
  });

  it("are repeated later, never before the peer's own time, and a bounded number of times", () => {
    const limited = failure({ reason: "rate_limited", retryable: true, retryAfterMs: 42_000 });
    let { task, last } = play([woken, announced, woken, limited], { policy: samplePolicy({ deadlineMs: 3600_000 }) });
    expect(last).toEqual([{ type: "wake", delayMs: 42_000 }]);
    let tries = 1;
    for (; tries < 100 && task.state === "sent"; tries++) task = play([woken, limited], { task }).task;
    expect(task.outcome).toMatchObject({ reason: "rate_limited" });
    expect(tries).toBeLessThan(20);
  });

  it("hold up a poll as well, never before the peer's own time", () => {
    const limited = lookedUp(failure({ reason: "rate_limited", retryable: true, retryAfterMs: 42_000 }));
    const policy = samplePolicy({ deadlineMs: 3600_000 });
    const { last } = play([woken, announced, woken, accepted, woken, limited], { policy });
    expect(last).toMatchObject([{ type: "wake", delayMs: 42_000 }]);
  });

  it("do not end the wait for an accepted task while the host cannot be reached", () => {
    let { task } = play([woken, announced, woken, accepted]);
    for (let i = 0; i < 30; i++) task = play([woken, i % 2 ? unavailable : ambiguous], { task }).task;
    expect(task.state).toBe("waiting");
    expect(play([woken, success], { task }).task.outcome).toMatchObject({ type: "answer" });
  });

  it("do not end a task that is at work for one answer that says nothing of it, and are borne a bounded number of times", () => {
    for (const reason of ["unauthenticated", "permission_denied", "internal", "invalid_response"] as const) {
      const puzzling = lookedUp(failure({ reason, retryable: false }));
      let { task } = play([woken, announced, woken, accepted, woken, puzzling]);
      expect(task.state).toBe("waiting");
      for (let i = 0; i < 20 && task.state === "waiting"; i++) task = play([woken, puzzling], { task }).task;
      expect(task.outcome).toMatchObject({ reason: "ambiguous" });
    }
  });

  it("do not add up: an outage and then one odd answer do not end a task that is at work", () => {
    let { task } = play([woken, announced, woken, accepted]);
    for (let i = 0; i < 20; i++) task = play([woken, lookedUp(unavailable)], { task }).task;
    const odd = lookedUp(failure({ reason: "unauthenticated", retryable: false }));
    expect(play([woken, odd, woken, success], { task }).task.outcome).toMatchObject({ type: "answer" });
    let sent = play([woken, announced, woken, ambiguous]).task;
    for (let i = 0; i < 3; i++) sent = play([woken, lookedUp(ambiguous)], { task: sent }).task;
    const broken = lookedUp(failure({ reason: "invalid_response", retryable: false }));
    expect(play([woken, broken, woken, accepted], { task: sent }).task.state).toBe("waiting");
    for (let i = 0; i < 5 && sent.state === "sent"; i++) sent = play([woken, broken], { task: sent }).task;
    expect(sent.outcome).toMatchObject({ reason: "ambiguous" });
  });

  it("pass on that the task was lost on the way", () => {
    const lost = failure({ reason: "execution_failed", retryable: false, lost: true });
    expect(play([woken, announced, woken, accepted, woken, lost]).task.outcome).toEqual({
      type: "failed",
      reason: "execution_failed",
      lost: true,
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

describe("a wish to cancel", () => {
  const asked = { type: "cancel_asked", nowMs, resumed: false } as const;
  const unknown = { ...lookedUp(failure({ reason: "task_not_found", retryable: false })), act: "cancel" } as const;

  it("asks the host wherever that may have taken the task down, also where it said that it could not", () => {
    expect(play([woken, announced, asked]).last).toEqual([{ type: "wake", delayMs: 0 }]);
    expect(play([woken, announced, woken, { type: "busy", delayMs: 100 }, asked]).task.outcome).toMatchObject({
      reason: "canceled",
    });
    const refused = play([woken, announced, woken, unavailable, asked]);
    expect(refused.last).toEqual([{ type: "cancel" }]);
    expect(play([unknown], { task: refused.task }).task.outcome).toMatchObject({ reason: "canceled" });
  });

  it("does not wait for a host that never took it, nor beyond the deadline", () => {
    const away = { ...unavailable, act: "cancel" } as const;
    let { task } = play([woken, announced, woken, unavailable, asked]);
    let tries = 0;
    for (; tries < 20 && task.state === "sent"; tries++) task = play([woken, away], { task }).task;
    expect(tries).toBeLessThanOrEqual(3);
    expect(task.outcome).toMatchObject({ reason: "canceled" });
    const late = { ...away, nowMs: nowMs + 60_000 + 15_000 };
    expect(play([woken, announced, woken, accepted, asked, late]).task.outcome).toMatchObject({ reason: "ambiguous" });
  });

  it("asks again for a while where the request may still be on its way", () => {
    let { task, last } = play([woken, announced, woken, ambiguous, asked, unknown]);
    expect(last).toMatchObject([{ type: "wake" }]);
    for (let i = 0; i < 10 && task.state === "sent"; i++) ({ task, last } = play([woken, unknown], { task }));
    expect(task.outcome).toMatchObject({ reason: "canceled" });
  });

  it("follows a send that is given up, since a host that could not take it may have taken it down", () => {
    let { task, last } = play([woken, announced, woken, unavailable], {
      policy: samplePolicy({ deadlineMs: 3600_000 }),
    });
    for (let i = 0; i < 20 && task.state === "sent"; i++) ({ task, last } = play([woken, unavailable], { task }));
    expect(task.outcome).toMatchObject({ reason: "unavailable" });
    expect(last).toEqual([{ type: "cancel" }]);
  });
});

describe("failures of Slack", () => {
  const slack = (kind: "gone" | "ambiguous" | "rate_limited") => ({ type: "slack_failed", nowMs, kind }) as const;

  it("make the next try look first, so that nothing is posted twice", () => {
    expect(play([woken, slack("ambiguous"), woken]).last).toEqual([{ type: "announce", heal: true }]);
    const { task } = play([woken, announced, woken, success]);
    expect(play([woken, slack("rate_limited"), woken], { task }).last).toEqual([{ type: "deliver", heal: true }]);
    expect(play([resumed], { task }).last).toEqual([{ type: "deliver", heal: true }]);
  });

  it("end the task where nobody can post any more, before anything is executed", () => {
    const { task, last } = play([woken, slack("gone")]);
    expect(task).toMatchObject({ state: "done", swept: true });
    expect(last).toEqual([]);
  });

  it("let an answer that Slack does not take be told in words of ours, once", () => {
    const refused = { type: "slack_failed", nowMs, kind: "refused" } as const;
    const { task } = play([woken, announced, woken, success, woken, refused]);
    expect(task).toMatchObject({ state: "delivering", outcome: { type: "failed", reason: "internal" } });
    expect(play([woken, refused], { task }).task.state).toBe("done");
  });

  it("never end a delivery, or the look after it, that may still succeed within a day", () => {
    let { task } = play([woken, announced, woken, success]);
    for (let i = 0; i < 200; i++) task = play([woken, slack("rate_limited")], { task }).task;
    expect(task.state).toBe("delivering");
    task = play([woken, { type: "delivered" }], { task }).task;
    for (let i = 0; i < 200; i++) task = play([woken, slack("rate_limited")], { task }).task;
    expect(task).toMatchObject({ state: "done", swept: false });
    expect(play([{ ...slack("rate_limited"), nowMs: nowMs + 25 * 3600_000 }], { task }).task.swept).toBe(true);
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
    expect(play([woken, { type: "dead_lettered", nowMs }, woken]).last).toEqual([{ type: "deliver", heal: true }]);
  });

  it("never replaces an outcome that is being delivered, and the next try looks first", () => {
    const { task, asked } = play([woken, announced, woken, success, { type: "dead_lettered", nowMs }, woken]);
    expect(task.outcome).toMatchObject({ type: "answer" });
    expect(asked[4]).toMatchObject([{ type: "wake" }]);
    expect(asked[5]).toEqual([{ type: "deliver", heal: true }]);
  });
});
