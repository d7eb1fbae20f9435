/** The stories of a task, sends in doubt, deadlines, and dead letters. */
import { describe, expect, it } from "@jest/globals";
import { isRetryable, reasons } from "@sekisho/contracts/errors.ts";
import type { Act, TaskEffect, TaskEvent } from "@sekisho/verification/task/events.ts";
import {
  accepted,
  ambiguous,
  announced,
  asking,
  failure,
  lookedUp,
  nowMs,
  play,
  success,
  toSent,
  unavailable,
  woken,
  workerDied,
} from "./play.ts";
import { askedAtMs, samplePolicy, sampleTask } from "./sample.ts";

describe("the stories of a task", () => {
  it("takes a task from received to announced, sent, delivered and cleaned up", () => {
    const { task, asked } = play([
      ...toSent,
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
      ["check_thread"],
      [],
    ]);
    expect(task).toMatchObject({ state: "done", cleanupDone: true });
  });

  it("polls an accepted task by its id until the result is there", () => {
    const { task, asked } = play([...toSent, accepted, woken, success]);
    expect(asked[4]).toEqual([{ type: "poll", by: "task_id" }]);
    expect(task).toMatchObject({
      state: "delivering",
      outcome: { type: "answer", text: "A checkpoint." },
    });
  });

  it("refuses a person who is not allowed without a post and without sending", () => {
    const refusedEvents = [
      woken,
      { type: "permitted", nowMs, allowed: false, locale: "ja" },
    ] as const;
    expect(play(refusedEvents)).toMatchObject({
      task: { outcome: { type: "refused" }, locale: "ja" },
      last: [{ type: "refuse" }],
    });
    const { task, last } = play([
      ...refusedEvents,
      { type: "refusal_shown" },
      { type: "thread_left" },
    ]);
    expect(task).toMatchObject({
      state: "done",
      cleanupDone: true,
      outcome: { type: "refused" },
      message: { text: "" },
    });
    expect(last).toEqual([]);
    const again = play([{ type: "redriven", nowMs, workerDied: false }], { task });
    expect([again.task.state, again.last]).toEqual(["done", []]);
  });

  it("apologizes for a message older than a day and never executes it", () => {
    const late = { ...woken, nowMs: askedAtMs + 24 * 3600_000 + 1001 };
    expect(play([late]).task.outcome).toEqual({ type: "too_old" });
  });

  it("fails a task when no route fits", () => {
    const { task } = play([woken], { policy: samplePolicy({ routed: false }) });
    expect(task.outcome).toEqual({ type: "failed", reason: "agent_not_found", lost: false });
  });

  it("fails a task with an empty text or with a text that is too long", () => {
    for (const [text, reason] of [
      ["", "invalid_params"],
      ["a".repeat(40_001), "payload_too_large"],
      ["🦊".repeat(20_001), "payload_too_large"],
    ] as const) {
      const task = sampleTask({ wakeSeq: 1, message: { ...sampleTask().message, text } });
      expect(play([woken], { task }).task.outcome).toMatchObject({ type: "failed", reason });
    }
  });

  it("accepts a text of exactly the maximum length, counted in UTF-16 units as in the ingress", () => {
    const task = sampleTask({ message: { ...sampleTask().message, text: "🦊".repeat(20_000) } });
    expect(play([woken], { task }).task.outcome).toBeUndefined();
  });

  it("stops the session of a task when the task is over, if the destination says so", () => {
    const policy = samplePolicy({ stopAfterResult: true });
    const { last, task } = play([...toSent, success, woken, { type: "delivered" }], {
      policy,
    });
    expect(last.map(({ type }) => type)).toEqual(["stop_session", "wake"]);
    expect(task.call?.sessionId).not.toBe(play([woken]).task.call?.sessionId);
  });

  it("erases the texts when the task is over and keeps the ids", () => {
    const { task } = play([
      ...toSent,
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

describe("an ambiguous send", () => {
  const unknown = lookedUp(failure({ reason: "task_not_found" }));

  it("polls an ambiguous send by its request id and repeats it with the stored params if it is unknown", () => {
    const first = play(toSent);
    const again = play([ambiguous, woken, unknown], { task: first.task });
    expect(again.asked[1]).toEqual([{ type: "poll", by: "request_id" }]);
    expect(again.last).toEqual([{ type: "send" }]);
    expect(again.task.call?.params).toEqual(first.task.call?.params);
  });

  it("continues as accepted when a poll finds the ambiguous task running", () => {
    expect(play([...toSent, ambiguous, woken, accepted]).task).toMatchObject({
      state: "waiting",
      call: { taskId: "t-1" },
    });
  });

  it("never repeats an ambiguous send to a peer that does not deduplicate and reports it as ambiguous", () => {
    const policy = samplePolicy({ idempotent: false });
    const { task, asked } = play([...toSent, ambiguous, woken, unknown], { policy });
    expect(asked[4]).toEqual([{ type: "poll", by: "request_id" }]);
    expect(task.outcome).toMatchObject({ reason: "ambiguous" });
  });

  it("treats the send of a worker that died as ambiguous", () => {
    const { task } = play(toSent);
    expect(play([workerDied], { task }).last).toEqual([{ type: "poll", by: "request_id" }]);
  });

  it("never repeats a send after the deadline, even if a worker returns days later", () => {
    const { task } = play(toSent);
    const days = { ...workerDied, nowMs: nowMs + 3 * 24 * 3600_000 };
    const late = { ...unknown, nowMs: days.nowMs };
    expect(play([days, late], { task }).task.outcome).toMatchObject({
      type: "failed",
      reason: "timeout",
    });
    const certain = play([...toSent, unavailable]).task;
    const over = play([{ ...days, workerDied: false }], { task: certain });
    expect(over.task.outcome).toMatchObject({ reason: "unavailable" });
    expect(over.last).toEqual([{ type: "cancel" }]);
  });

  it("stays ambiguous when the polls fail or the repeated send is refused", () => {
    let { task } = play([...toSent, ambiguous]);
    for (let i = 0; i < 10 && task.state === "sent"; i++)
      task = play([woken, lookedUp(unavailable)], { task }).task;
    expect(task.outcome).toMatchObject({ type: "failed", reason: "ambiguous" });
    const refusal = failure({ reason: "permission_denied" });
    expect(play([...toSent, ambiguous, woken, unknown, refusal]).task.outcome).toMatchObject({
      reason: "ambiguous",
    });
  });
});

describe("the deadline", () => {
  const late = { ...woken, nowMs: nowMs + 60_000 + 15_000 };
  const waiting = () => play([...toSent, accepted]).task;

  it("cancels a task at the host at its deadline and reports a timeout", () => {
    const { task, asked } = play([late, { type: "canceled", nowMs: late.nowMs }], {
      task: waiting(),
    });
    expect(asked[0]).toEqual([{ type: "cancel" }]);
    expect(task.outcome).toMatchObject({ type: "failed", reason: "timeout" });
  });

  it("accepts the result of a task that ended before its cancel arrived", () => {
    const invalidState = {
      ...failure({ reason: "invalid_state" }, late.nowMs),
      act: "cancel",
    } as const;
    const polledInVain = play([woken, lookedUp(unavailable)], { task: waiting() }).task;
    const { task, asked } = play([late, invalidState, success], { task: polledInVain });
    expect(asked[1]).toEqual([{ type: "poll", by: "task_id" }]);
    expect(task.outcome).toMatchObject({ type: "answer" });
  });

  it("polls again for a result after its cancel came too late and one poll failed", () => {
    const invalidState = {
      ...failure({ reason: "invalid_state" }, late.nowMs),
      act: "cancel",
    } as const;
    const away = { ...lookedUp(ambiguous), nowMs: late.nowMs };
    const again = play([late, invalidState, away], { task: waiting() });
    expect(again.last).toMatchObject([{ type: "wake" }]);
    expect(play([late, invalidState, success], { task: again.task }).task.outcome).toMatchObject({
      type: "answer",
    });
    let { task } = again;
    for (let i = 0; i < 10 && task.state === "waiting"; i++)
      task = play([late, invalidState, away], { task }).task;
    expect(task.outcome).toMatchObject({ type: "failed", reason: "timeout" });
  });

  it("ends a task at its deadline even if the host cannot be reached", () => {
    const away = { ...unavailable, act: "cancel", nowMs: late.nowMs } as const;
    const first = play([late, away], { task: waiting() });
    expect(first.last).toMatchObject([{ type: "wake" }]);
    const { task } = play([late, away], { task: first.task });
    expect(task.outcome).toMatchObject({ type: "failed", reason: "timeout" });
  });
});

describe("a dead letter", () => {
  it("a dead letter fails a task whose outcome is open", () => {
    const { task, last } = play([woken, announced, { type: "dead_lettered", nowMs }]);
    expect(task.outcome).toMatchObject({ type: "failed", reason: "internal" });
    expect(last).toEqual([{ type: "wake", delayMs: 0 }]);
  });

  it("a dead letter of a sent task cancels it at the host and reports it as ambiguous", () => {
    const deadLetterStep = play([...toSent, { type: "dead_lettered", nowMs }]);
    expect(deadLetterStep.last).toEqual([{ type: "cancel" }]);
    const invalidState = failure({ reason: "invalid_state" });
    const refusals = [ambiguous, unavailable, invalidState].map(
      (event): TaskEvent => ({ ...event, act: "cancel" }),
    );
    for (const event of [{ type: "canceled", nowMs } as const, ...refusals]) {
      const { task, last } = play([event], { task: deadLetterStep.task });
      expect(task).toMatchObject({
        state: "delivering",
        outcome: { type: "failed", reason: "ambiguous" },
      });
      expect(last).toEqual([{ type: "wake", delayMs: 0 }]);
    }
  });

  it("a dead letter never replaces an outcome, and the next delivery reconciles first", () => {
    const { task, asked } = play([...toSent, success, { type: "dead_lettered", nowMs }, woken]);
    expect(task.outcome).toMatchObject({ type: "answer" });
    expect(asked[4]).toMatchObject([{ type: "wake" }]);
    expect(asked[5]).toEqual([{ type: "deliver", reconcile: true }]);
  });
});

describe("failures of the Execution zone", () => {
  it("reports a failure that is not retryable at once", () => {
    for (const reason of reasons.filter(
      (name) => !isRetryable(name) && name !== "invalid_response",
    )) {
      const { task } = play([...toSent, failure({ reason })]);
      expect(task.outcome).toEqual({ type: "failed", reason, lost: false });
    }
  });

  it("polls after a broken response because the agent may be running, and gives up after three tries", () => {
    const brokenResponse = failure({ reason: "invalid_response" });
    const sentStep = play([...toSent, brokenResponse]);
    expect(sentStep.task).toMatchObject({ state: "sent", call: { arrival: "in_doubt" } });
    expect(play([woken, accepted], { task: sentStep.task }).task.state).toBe("waiting");
    const nobody = play(
      [
        woken,
        lookedUp(brokenResponse),
        woken,
        lookedUp(brokenResponse),
        woken,
        lookedUp(brokenResponse),
      ],
      {
        task: sentStep.task,
      },
    );
    expect(nobody.task.outcome).toMatchObject({ reason: "invalid_response" });
  });

  it("ends a task at once when the host says that it ended with an unusable result", () => {
    const unusable = failure({ reason: "invalid_response", certainty: "ended" });
    const outcome = { type: "failed", reason: "invalid_response", lost: false };
    expect(play([...toSent, unusable]).task.outcome).toEqual(outcome);
    expect(play([...toSent, ambiguous, woken, lookedUp(unusable)]).task.outcome).toEqual(outcome);
    expect(play([...toSent, accepted, woken, lookedUp(unusable)]).task.outcome).toEqual(outcome);
  });

  it("reports the reason of a failure as it is when nothing was sent", () => {
    const brokenResponse = failure({ reason: "invalid_response", certainty: "undelivered" });
    const sentStep = play([...toSent, brokenResponse]);
    expect(sentStep.task).toMatchObject({ state: "sent", call: { arrival: "none" } });
    expect(sentStep.last).toMatchObject([{ type: "wake" }]);
    const { task } = play([woken, brokenResponse, woken, brokenResponse, woken, brokenResponse], {
      task: sentStep.task,
    });
    expect(task.outcome).toEqual({ type: "failed", reason: "invalid_response", lost: false });
  });

  it("retries later, never before the delay that the peer asks for, and a bounded number of times", () => {
    const rateLimit = failure({ reason: "rate_limited", retryAfterMs: 42_000 });
    let { task, last } = play([...toSent, rateLimit], {
      policy: samplePolicy({ deadlineMs: 3600_000 }),
    });
    expect(last).toEqual([{ type: "wake", delayMs: 42_000 }]);
    let tries = 1;
    for (; tries < 100 && task.state === "sent"; tries++)
      task = play([woken, rateLimit], { task }).task;
    expect(task.outcome).toMatchObject({ reason: "rate_limited" });
    expect(tries).toBeLessThan(20);
  });

  it("keeps a running task despite a bounded number of failed polls that say nothing of it", () => {
    for (const reason of [
      "unauthenticated",
      "permission_denied",
      "internal",
      "invalid_response",
    ] as const) {
      const puzzling = lookedUp(failure({ reason }));
      let { task } = play([...toSent, accepted, woken, puzzling]);
      expect(task.state).toBe("waiting");
      for (let i = 0; i < 20 && task.state === "waiting"; i++)
        task = play([woken, puzzling], { task }).task;
      expect(task.outcome).toMatchObject({ reason: "ambiguous" });
    }
  });

  it("counts outages apart from odd responses, so that both together do not end a running task", () => {
    let { task } = play([...toSent, accepted]);
    for (let i = 0; i < 20; i++) task = play([woken, lookedUp(unavailable)], { task }).task;
    const odd = lookedUp(failure({ reason: "unauthenticated" }));
    expect(play([woken, odd, woken, success], { task }).task.outcome).toMatchObject({
      type: "answer",
    });
    let sentTask = play([...toSent, ambiguous]).task;
    for (let i = 0; i < 3; i++)
      sentTask = play([woken, lookedUp(ambiguous)], { task: sentTask }).task;
    const brokenLookUp = lookedUp(failure({ reason: "invalid_response" }));
    expect(play([woken, brokenLookUp, woken, accepted], { task: sentTask }).task.state).toBe(
      "waiting",
    );
    for (let i = 0; i < 5 && sentTask.state === "sent"; i++)
      sentTask = play([woken, brokenLookUp], { task: sentTask }).task;
    expect(sentTask.outcome).toMatchObject({ reason: "ambiguous" });
  });

  it("reports a refused task as ambiguous when its host can no longer be asked to cancel it", () => {
    let { task, last } = play([woken, announced]);
    while (last.every(({ type }) => type !== "cancel"))
      ({ task, last } = play([woken, unavailable], { task }));
    expect(task.outcome).toMatchObject({ reason: "unavailable" });
    for (const event of [
      { type: "canceled", nowMs } as const,
      failure({ reason: "task_not_found" }),
    ])
      expect(play([event], { task }).task.outcome).toMatchObject({ reason: "unavailable" });
    expect(play([{ ...unavailable, act: "cancel" }], { task }).task.outcome).toMatchObject({
      reason: "ambiguous",
    });
    // A host that never got the task runs nothing.
    const { call } = task;
    const never = { ...task, ...(call && { call: { ...call, arrival: "none" as const } }) };
    expect(play([{ ...unavailable, act: "cancel" }], { task: never }).task.outcome).toMatchObject({
      reason: "unavailable",
    });
  });

  it("passes on that the Execution zone lost the task", () => {
    const lossFailure = failure({ reason: "execution_failed", lost: true });
    expect(play([...toSent, accepted, woken, lossFailure]).task.outcome).toEqual({
      type: "failed",
      reason: "execution_failed",
      lost: true,
    });
  });
});

describe("a cancel request", () => {
  const cancelAsked = { type: "cancel_asked", nowMs, workerDied: false } as const;
  const unknown = {
    ...lookedUp(failure({ reason: "task_not_found" })),
    act: "cancel",
  } as const;

  it("cancels at the host whenever it may have stored the task, even after a refusal", () => {
    expect(play([woken, announced, cancelAsked]).last).toEqual([{ type: "wake", delayMs: 0 }]);
    expect(
      play([...toSent, { type: "busy", delayMs: 100 }, cancelAsked]).task.outcome,
    ).toMatchObject({
      reason: "canceled",
    });
    const refusedStep = play([...toSent, unavailable, cancelAsked]);
    expect(refusedStep.last).toEqual([{ type: "cancel" }]);
    expect(play([unknown], { task: refusedStep.task }).task.outcome).toMatchObject({
      reason: "canceled",
    });
  });

  it("stops canceling soon at a host that never accepted the task, and at the deadline otherwise", () => {
    const away = { ...unavailable, act: "cancel" } as const;
    let { task } = play([...toSent, unavailable, cancelAsked]);
    let tries = 0;
    for (; tries < 20 && task.state === "sent"; tries++) task = play([woken, away], { task }).task;
    expect(tries).toBeLessThanOrEqual(3);
    expect(task.outcome).toMatchObject({ reason: "canceled" });
    const late = { ...away, nowMs: nowMs + 60_000 + 15_000 };
    expect(play([...toSent, accepted, cancelAsked, late]).task.outcome).toMatchObject({
      reason: "ambiguous",
    });
  });

  it("repeats a cancel for a while when the send may still be on its way", () => {
    let { task, last } = play([...toSent, ambiguous, cancelAsked, unknown]);
    expect(last).toMatchObject([{ type: "wake" }]);
    for (let i = 0; i < 10 && task.state === "sent"; i++)
      ({ task, last } = play([woken, unknown], { task }));
    expect(task.outcome).toMatchObject({ reason: "canceled" });
  });
});

describe("failures of Slack", () => {
  const slack = (act: Act["type"], kind: "gone" | "ambiguous" | "rate_limited") =>
    ({ type: "slack_failed", nowMs, act, kind }) as const;

  it("reconciles at the next try after a failure of Slack, so that nothing is posted twice", () => {
    expect(play([woken, slack("announce", "ambiguous"), woken]).last).toEqual([
      { type: "announce", reconcile: true },
    ]);
    const { task } = play([...toSent, success]);
    expect(play([woken, slack("deliver", "rate_limited"), woken], { task }).last).toEqual([
      { type: "deliver", reconcile: true },
    ]);
    expect(play([workerDied], { task }).last).toEqual([{ type: "deliver", reconcile: true }]);
  });

  it("ends a task before anything is executed when the bot can no longer post", () => {
    const { task, last } = play([woken, slack("announce", "gone")]);
    expect(task).toMatchObject({
      state: "done",
      delivery: { status: "given_up" },
      cleanupDone: false,
    });
    // What an earlier try may have posted is cleaned up.
    expect(last).toMatchObject([{ type: "wake" }]);
  });

  it("delivers a refused answer without blocks, then a failure, then a failure notice, and then ends", () => {
    const slackRefusal = { type: "slack_failed", nowMs, act: "deliver", kind: "refused" } as const;
    const plain = play([...toSent, success, woken, slackRefusal]);
    expect(plain.task).toMatchObject({
      state: "delivering",
      outcome: { type: "answer" },
      mrkdwnFallback: true,
    });
    const { task } = play([woken, slackRefusal], { task: plain.task });
    expect(task).toMatchObject({
      state: "delivering",
      outcome: { type: "failed", reason: "internal" },
    });
    const last = play([woken, slackRefusal], { task }).task;
    expect(last).toMatchObject({ state: "delivering", delivery: { status: "failure_notice" } });
    expect(play([woken, slackRefusal], { task: last }).task.state).toBe("done");
  });

  it("keeps trying a delivery and its cleanup for hours while Slack limits the rate", () => {
    let { task } = play([...toSent, success]);
    for (let i = 0; i < 200; i++)
      task = play([woken, slack("deliver", "rate_limited")], { task }).task;
    expect(task.state).toBe("delivering");
    task = play([woken, { type: "delivered" }], { task }).task;
    for (let i = 0; i < 200; i++)
      task = play([woken, slack("clean_up", "rate_limited")], { task }).task;
    expect(task).toMatchObject({ state: "done", cleanupDone: false });
  });
});

const unreadFailure = failure({ reason: "payload_too_large", certainty: "unread" });
const toldAsEnd = lookedUp(failure({ reason: "payload_too_large", certainty: "refused" }));
const policy = samplePolicy({ deadlineMs: 3600_000 });
const poll = lookedUp(unreadFailure);
const underWay = { ...accepted, act: "poll" } as const;

describe("a response that is too large to be read", () => {
  it("keeps a running task after three unreadably large responses if the next one is readable", () => {
    const { task } = play([...toSent, accepted], { policy });
    let current = task;
    for (let rounds = 0; rounds < 5; rounds++) {
      const { task: later, last } = play([woken, poll, woken, poll, woken, poll, woken, underWay], {
        task: current,
        policy,
      });
      expect(last).toMatchObject([{ type: "wake" }]);
      expect(later).toMatchObject({ state: "waiting" });
      current = later;
    }
    expect(play([woken, success], { task: current, policy }).task.outcome).toMatchObject({
      type: "answer",
    });
  });

  it("fails a task after four unreadably large responses, or at once if its host reports the size", () => {
    const { task } = play([...toSent, accepted], { policy });
    const {
      task: endedTask,
      asked,
      last,
    } = play([woken, poll, woken, poll, woken, poll, woken, poll], { task, policy });
    expect(endedTask).toMatchObject({
      state: "delivering",
      outcome: { type: "failed", reason: "payload_too_large", lost: false },
    });
    expect(last).toEqual([{ type: "cancel" }]);
    expect(play([woken, toldAsEnd], { task, policy }).task.outcome).toMatchObject({
      reason: "payload_too_large",
    });
    const delays = asked
      .flat()
      .flatMap((effect) => (effect.type === "wake" ? [effect.delayMs] : []));
    expect(delays).toEqual([1000, 2000, 4000]);
  });

  it("polls a send whose response was too large to read", () => {
    const { task } = play([...toSent, unreadFailure], { policy });
    expect(task).toMatchObject({ state: "sent", call: { arrival: "in_doubt" } });
    const looking = play([woken], { task, policy });
    expect(looking.last).toEqual([{ type: "poll", by: "request_id" }]);
    expect(play([underWay], { task: looking.task, policy }).task.state).toBe("waiting");
    const never = play([woken, poll, woken, poll, woken, poll], { task, policy });
    expect(never.task.outcome).toMatchObject({ reason: "payload_too_large" });
    expect(never.last).toEqual([{ type: "cancel" }]);
  });

  it("treats a response to cancel or answer_task that is too large as in doubt", () => {
    const { task } = play([...toSent, accepted], { policy });
    const cancelingTask = play([{ type: "cancel_asked", nowMs, workerDied: false }], {
      task,
      policy,
    }).task;
    const canceling = play([{ ...unreadFailure, act: "cancel" }], { task: cancelingTask, policy });
    expect(canceling.task.outcome).toBeUndefined();
    expect(play([woken], { task: canceling.task, policy }).last).toEqual([{ type: "cancel" }]);
    const askingTask = play([woken, asking()], { task, policy }).task;
    const question = askingTask.question && { ...askingTask.question, ts: "2.2" };
    const answer = { user: "U1", atMs: nowMs, option: 0, callId: "c-1" };
    const answeredTask = { ...askingTask, question: question && { ...question, answer } };
    const bringing = play([woken, { ...unreadFailure, act: "answer" }], {
      task: answeredTask,
      policy,
    });
    expect(bringing.task).toMatchObject({ state: "asking" });
    expect(bringing.task.question?.answer?.arrival).toEqual({ type: "in_doubt", sinceMs: nowMs });
  });
});

describe("a host that sends only invalid responses", () => {
  it("cancels a task at the host when it gives the task up after unreadable responses", () => {
    const brokenLookUp = lookedUp(failure({ reason: "invalid_response" }));
    const { task } = play([...toSent, accepted], { policy });
    const { task: endedTask, last } = play(Array(8).fill([woken, brokenLookUp]).flat(), {
      task,
      policy,
    });
    expect(endedTask.outcome).toMatchObject({ reason: "ambiguous" });
    expect(last).toEqual([{ type: "cancel" }]);
  });
});

/** The task has a minute, and its host 15 seconds more. */
const deadlineMs = 60_000;
const hostMs = deadlineMs + 15_000;
const dayMs = 24 * 3600_000;

/** Our own longest delay between two tries. */
const ownMs = 60_000;
const busy = failure({ reason: "rate_limited", retryAfterMs: dayMs });

const acceptedWith = (pollAfterMs: number, act: "send" | "poll" = "send") => ({
  ...accepted,
  act,
  result: { ...accepted.result, poll_after_ms: pollAfterMs, progress: { text: "half" } },
});

function waitOf(effects: readonly TaskEffect[] | undefined): number {
  const [wake] = effects ?? [];
  if (wake?.type !== "wake") throw new Error("it does not wait");
  return wake.delayMs + (wake.jitterMs ?? 0);
}

describe("a host that asks for a pause of a day", () => {
  it("polls once more at the end of the task's time, even if the host asks for a later poll", () => {
    const sentStep = play([...toSent, acceptedWith(dayMs)]);
    expect(waitOf(sentStep.last)).toBe(hostMs);
    const progressShown = { type: "progress_shown", nowMs, shown: {} } as const;
    expect(
      waitOf(
        play([woken, acceptedWith(dayMs, "poll"), progressShown], { task: sentStep.task }).last,
      ),
    ).toBe(hostMs);
    expect(
      waitOf(
        play([woken, acceptedWith(70_000, "poll"), progressShown], { task: sentStep.task }).last,
      ),
    ).toBe(70_000);
  });

  it("never delays a poll of an ambiguous send beyond the deadline", () => {
    const { task } = play([...toSent, ambiguous]);
    expect(waitOf(play([woken, lookedUp(busy)], { task }).last)).toBe(hostMs);
    const late = { ...lookedUp(busy), nowMs: nowMs + hostMs };
    expect(waitOf(play([woken, late], { task }).last)).toBeLessThanOrEqual(ownMs);
  });

  it("never delays a cancel at the deadline", () => {
    const { task } = play([...toSent, accepted]);
    const late = nowMs + hostMs;
    const refusedCancel = { ...lookedUp(busy), act: "cancel", nowMs: late } as const;
    const ending = play([{ ...woken, nowMs: late }, refusedCancel], { task });
    expect(waitOf(ending.last)).toBeLessThanOrEqual(ownMs);
  });
});
