/** What becomes of a task when the Execution zone or Slack fails, or somebody wants it to end. */
import { describe, expect, it } from "@jest/globals";
import { reasons, SekishoError } from "../../../contracts/errors.ts";
import type { Act } from "../../../lambdas/verification/task/events.ts";
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
import { samplePolicy } from "./sample.ts";

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
    expect(sent.task).toMatchObject({ state: "sent", call: { arrival: "in_doubt" } });
    expect(play([woken, accepted], { task: sent.task }).task.state).toBe("waiting");
    const nobody = play([woken, lookedUp(broken), woken, lookedUp(broken), woken, lookedUp(broken)], {
      task: sent.task,
    });
    expect(nobody.task.outcome).toMatchObject({ reason: "invalid_response" });
  });

  it("end the task at once where it is over there with a result that is unusable: the next answer would be the same", () => {
    const unusable = failure({ reason: "invalid_response", retryable: false, endsTask: true });
    const outcome = { type: "failed", reason: "invalid_response", lost: false };
    expect(play([woken, announced, woken, unusable]).task.outcome).toEqual(outcome);
    expect(play([woken, announced, woken, ambiguous, woken, lookedUp(unusable)]).task.outcome).toEqual(outcome);
    expect(play([woken, announced, woken, accepted, woken, lookedUp(unusable)]).task.outcome).toEqual(outcome);
  });

  it("are told for what they are where nothing was sent, as with an agent card that is none", () => {
    const broken = failure({ reason: "invalid_response", retryable: false, undelivered: true });
    const sent = play([woken, announced, woken, broken]);
    expect(sent.task).toMatchObject({ state: "sent", call: { arrival: "none" } });
    expect(sent.last).toMatchObject([{ type: "wake" }]);
    const { task } = play([woken, broken, woken, broken, woken, broken], { task: sent.task });
    expect(task.outcome).toEqual({ type: "failed", reason: "invalid_response", lost: false });
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
  const slack = (act: Act["type"], kind: "gone" | "ambiguous" | "rate_limited") =>
    ({ type: "slack_failed", nowMs, act, kind }) as const;

  it("make the next try look first, so that nothing is posted twice", () => {
    expect(play([woken, slack("announce", "ambiguous"), woken]).last).toEqual([{ type: "announce", reconcile: true }]);
    const { task } = play([woken, announced, woken, success]);
    expect(play([woken, slack("deliver", "rate_limited"), woken], { task }).last).toEqual([
      { type: "deliver", reconcile: true },
    ]);
    expect(play([resumed], { task }).last).toEqual([{ type: "deliver", reconcile: true }]);
  });

  it("end the task where nobody can post any more, before anything is executed", () => {
    const { task, last } = play([woken, slack("announce", "gone")]);
    expect(task).toMatchObject({ state: "done", delivery: { status: "given_up" }, cleanupDone: false });
    // What an earlier try may have posted is cleaned up.
    expect(last).toMatchObject([{ type: "wake" }]);
  });

  it("let an answer that Slack does not take be told without blocks, and then in words of ours, once", () => {
    const refused = { type: "slack_failed", nowMs, act: "deliver", kind: "refused" } as const;
    const plain = play([woken, announced, woken, success, woken, refused]);
    expect(plain.task).toMatchObject({ state: "delivering", outcome: { type: "answer" }, mrkdwnFallback: true });
    const { task } = play([woken, refused], { task: plain.task });
    expect(task).toMatchObject({ state: "delivering", outcome: { type: "failed", reason: "internal" } });
    const last = play([woken, refused], { task }).task;
    expect(last).toMatchObject({ state: "delivering", delivery: { status: "failure_notice" } });
    expect(play([woken, refused], { task: last }).task.state).toBe("done");
  });

  it("do not end a delivery, or the look after it, for some hours of tries", () => {
    let { task } = play([woken, announced, woken, success]);
    for (let i = 0; i < 200; i++) task = play([woken, slack("deliver", "rate_limited")], { task }).task;
    expect(task.state).toBe("delivering");
    task = play([woken, { type: "delivered" }], { task }).task;
    for (let i = 0; i < 200; i++) task = play([woken, slack("clean_up", "rate_limited")], { task }).task;
    expect(task).toMatchObject({ state: "done", cleanupDone: false });
  });
});
