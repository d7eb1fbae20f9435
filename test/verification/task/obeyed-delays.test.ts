/** The delays that a host asks for: obeyed, but nobody waits for words beyond the deadline because of them. */
import { describe, expect, it } from "@jest/globals";
import type { TaskEffect } from "../../../lambdas/verification/task/events.ts";
import { accepted, ambiguous, announced, failure, lookedUp, nowMs, play, woken } from "./play.ts";

/** The task has a minute, and its host 15 seconds more. */
const deadlineMs = 60_000;
const hostMs = deadlineMs + 15_000;
const dayMs = 24 * 3600_000;
/** Our own longest delay between two tries. */
const ownMs = 60_000;

const busy = failure({ reason: "rate_limited", retryable: true, retryAfterMs: dayMs });
const told = (pollAfterMs: number, act: "send" | "poll" = "send") => ({
  ...accepted,
  act,
  result: { ...accepted.result, poll_after_ms: pollAfterMs, progress: { text: "half" } },
});
function waitOf(effects: readonly TaskEffect[] | undefined): number {
  const [wake] = effects ?? [];
  if (wake?.type !== "wake") throw new Error("it does not wait");
  return wake.delayMs + (wake.jitterMs ?? 0);
}

describe("a host that wants to be left alone for a day", () => {
  it("is polled once more at the end of its time, however late it wants the next poll", () => {
    const sent = play([woken, announced, woken, told(dayMs)]);
    expect(waitOf(sent.last)).toBe(hostMs);
    const shown = { type: "progress_shown", nowMs, shown: {} } as const;
    expect(waitOf(play([woken, told(dayMs, "poll"), shown], { task: sent.task }).last)).toBe(hostMs);
    expect(waitOf(play([woken, told(70_000, "poll"), shown], { task: sent.task }).last)).toBe(70_000);
  });

  it("puts off no look-up beyond the deadline", () => {
    const { task } = play([woken, announced, woken, ambiguous]);
    expect(waitOf(play([woken, lookedUp(busy)], { task }).last)).toBe(hostMs);
    const late = { ...lookedUp(busy), nowMs: nowMs + hostMs };
    expect(waitOf(play([woken, late], { task }).last)).toBeLessThanOrEqual(ownMs);
  });

  it("puts off no cancellation at the deadline", () => {
    const { task } = play([woken, announced, woken, accepted]);
    const late = nowMs + hostMs;
    const ending = play(
      [
        { ...woken, nowMs: late },
        { ...lookedUp(busy), act: "cancel", nowMs: late },
      ],
      { task },
    );
    expect(waitOf(ending.last)).toBeLessThanOrEqual(ownMs);
  });
});
