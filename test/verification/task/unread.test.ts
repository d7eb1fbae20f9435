/** What becomes of a task when a response of the Execution zone is too large to be read. */
import { describe, expect, it } from "@jest/globals";
import { accepted, announced, asking, failure, lookedUp, nowMs, play, success, woken } from "./play.ts";
import { samplePolicy } from "./sample.ts";

const unread = failure({ reason: "payload_too_large", retryable: false, unread: true });
const toldAsEnd = lookedUp(failure({ reason: "payload_too_large", retryable: false, unread: false }));
const policy = samplePolicy({ deadlineMs: 3600_000 });
const poll = lookedUp(unread);
const underWay = { ...accepted, act: "poll" } as const;

describe("a response that is too large to be read", () => {
  it("is no end of a running task: the next one may be smaller, and three are forgotten by then", () => {
    const { task } = play([woken, announced, woken, accepted], { policy });
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
    expect(play([woken, success], { task: current, policy }).task.outcome).toMatchObject({ type: "answer" });
  });

  it("ends the task in words within seconds where none is smaller, and the host is asked to end it", () => {
    const { task } = play([woken, announced, woken, accepted], { policy });
    const { task: ended, asked, last } = play([woken, poll, woken, poll, woken, poll, woken, poll], { task, policy });
    expect(ended).toMatchObject({
      state: "delivering",
      outcome: { type: "failed", reason: "payload_too_large", lost: false },
    });
    expect(last).toEqual([{ type: "cancel" }]);
    const delays = asked.flat().flatMap((effect) => (effect.type === "wake" ? [effect.delayMs] : []));
    expect(delays).toEqual([1000, 2000, 4000]);
  });

  it("leaves a send in doubt: the host is asked for the task", () => {
    const { task } = play([woken, announced, woken, unread], { policy });
    expect(task).toMatchObject({ state: "sent", call: { arrival: "in_doubt" } });
    const looking = play([woken], { task, policy });
    expect(looking.last).toEqual([{ type: "poll", by: "request_id" }]);
    expect(play([underWay], { task: looking.task, policy }).task.state).toBe("waiting");
    const never = play([woken, poll, woken, poll, woken, poll], { task, policy });
    expect(never.task.outcome).toMatchObject({ reason: "payload_too_large" });
    expect(never.last).toEqual([{ type: "cancel" }]);
  });

  it("is no answer to the wish to cancel, nor to a person's answer", () => {
    const { task } = play([woken, announced, woken, accepted], { policy });
    const wished = play([{ type: "cancel_asked", nowMs, resumed: false }], { task, policy }).task;
    const canceling = play([{ ...unread, act: "cancel" }], { task: wished, policy });
    expect(canceling.task.outcome).toBeUndefined();
    expect(play([woken], { task: canceling.task, policy }).last).toEqual([{ type: "cancel" }]);
    const asked = play([woken, asking()], { task, policy }).task;
    const question = asked.question && { ...asked.question, ts: "2.2" };
    const answer = { user: "U1", atMs: nowMs, option: 0, callId: "c-1" };
    const given = { ...asked, question: question && { ...question, answer } };
    const bringing = play([woken, { ...unread, act: "answer" }], { task: given, policy });
    expect(bringing.task).toMatchObject({ state: "asking" });
    expect(bringing.task.question?.answer?.arrival).toEqual({ type: "in_doubt", sinceMs: nowMs });
  });
});

describe("a task that its host says to have ended for its size", () => {
  it("is over at once", () => {
    const { task } = play([woken, announced, woken, accepted, woken, toldAsEnd], { policy });
    expect(task.outcome).toMatchObject({ reason: "payload_too_large" });
  });
});

describe("a host that answers nothing but nonsense", () => {
  it("is asked to end the task that is given up", () => {
    const broken = lookedUp(failure({ reason: "invalid_response", retryable: false }));
    const { task } = play([woken, announced, woken, accepted], { policy });
    const { task: ended, last } = play(Array(8).fill([woken, broken]).flat(), { task, policy });
    expect(ended.outcome).toMatchObject({ reason: "ambiguous" });
    expect(last).toEqual([{ type: "cancel" }]);
  });
});
