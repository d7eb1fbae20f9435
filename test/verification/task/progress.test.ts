/** What the agent tells on its way: at most once a second, never just before the answer, and never instead of it. */
import { describe, expect, it } from "@jest/globals";
import type { ProgressShown, TaskEvent } from "../../../lambdas/verification/task/events.ts";
import { withCall } from "../../../lambdas/verification/task/routing.ts";
import type { Task } from "../../../lambdas/verification/task/task.ts";
import { accepted, announced, nowMs, play, resumed, success, woken } from "./play.ts";

const waiting = play([woken, announced, woken, accepted]).task;

function told(progress: { text?: string; percent?: number; partial_text?: string }, atMs: number): TaskEvent {
  return { ...accepted, act: "poll", nowMs: atMs, result: { ...accepted.result, progress } };
}
const wokenAt = (atMs: number): TaskEvent => ({ ...woken, nowMs: atMs });
const shownAt = (atMs: number, shown: ProgressShown = {}): TaskEvent => ({
  type: "progress_shown",
  nowMs: atMs,
  shown,
});
/** The thread shows it since `nowMs`. */
const showing = (shown: ProgressShown = {}, progress = { text: "half" }): Task =>
  play([woken, told(progress, nowMs), shownAt(nowMs, shown)], { task: waiting }).task;

describe("progress", () => {
  it("is shown when it is news, and then the task is polled on", () => {
    const first = play([woken, told({ text: "half", percent: 50 }, nowMs)], { task: waiting });
    expect(first.last).toEqual([{ type: "show_progress" }]);
    expect(first.task.progress).toMatchObject({ text: "half", percent: 50, shownAtMs: nowMs });
    const polledOn = play([shownAt(nowMs)], { task: first.task });
    expect(polledOn.last).toMatchObject([{ type: "wake" }]);
    const same = play([wokenAt(nowMs + 5000), told({ text: "half", percent: 50 }, nowMs + 5000)], {
      task: polledOn.task,
    });
    expect(same.last).toMatchObject([{ type: "wake" }]);
  });

  it("is shown at most once a second, and what was left out then is shown later", () => {
    const soon = play([wokenAt(nowMs + 999), told({ text: "more" }, nowMs + 999)], { task: showing() });
    expect(soon.last).toMatchObject([{ type: "wake" }]);
    const later = play([wokenAt(nowMs + 1000), told({ text: "more" }, nowMs + 1000)], { task: soon.task });
    expect(later.last).toEqual([{ type: "show_progress" }]);
  });

  it("leaves Slack alone for as long as Slack wants", () => {
    const task = showing({ delayMs: 30_000 });
    expect(play([wokenAt(nowMs + 29_000), told({ text: "more" }, nowMs + 29_000)], { task }).last).toMatchObject([
      { type: "wake" },
    ]);
  });

  it("is not followed by the answer within a second, so that an edit of the placeholder does not come last", () => {
    const answered = play([wokenAt(nowMs + 300), { ...success, nowMs: nowMs + 300 }], { task: showing() });
    const early = play([wokenAt(nowMs + 300)], { task: answered.task });
    expect(early.last).toEqual([{ type: "wake", delayMs: 700 }]);
    expect(play([wokenAt(nowMs + 1000)], { task: early.task }).last).toMatchObject([{ type: "deliver" }]);
    const slowed = { ...answered.task, progress: { shownAtMs: nowMs + 30_000 } };
    expect(play([wokenAt(nowMs + 300)], { task: slowed }).last).toEqual([{ type: "wake", delayMs: 1000 }]);
  });

  it("remembers that an edit may still land, however often the next one works", () => {
    const doubt = showing({ inDoubt: true });
    const later = [wokenAt(nowMs + 5000), told({ text: "more" }, nowMs + 5000), shownAt(nowMs + 5000)];
    expect(play(later, { task: doubt }).task.progress).toMatchObject({ text: "more", inDoubt: true });
  });

  it("is forgotten with the task", () => {
    const events: TaskEvent[] = [wokenAt(nowMs + 5000), { ...success, nowMs: nowMs + 5000 }, wokenAt(nowMs + 9000)];
    const over = play([...events, { type: "delivered" }, woken, { type: "cleaned_up" }], { task: showing() }).task;
    expect(over).toMatchObject({ state: "done", cleanupDone: true });
    expect(JSON.stringify(over)).not.toContain("half");
  });
});

describe("a stream", () => {
  it("that may have been begun by a worker that died is in doubt", () => {
    const partial = play([woken, told({ partial_text: "A check" }, nowMs)], { task: waiting }).task;
    expect(play([resumed], { task: partial }).task.stream).toEqual({ messages: [], length: 0, inDoubt: true });
    // What the worker that died had heard from the host is in no record.
    expect(play([resumed], { task: waiting }).task.stream?.inDoubt).toBe(true);
    expect(play([woken], { task: waiting }).task.stream).toBeUndefined();
    const late: TaskEvent = { ...resumed, nowMs: nowMs + 24 * 3600_000 };
    expect(play([late], { task: withCall(waiting, { deadlineAtMs: nowMs }) }).task.stream?.inDoubt).toBe(true);
    const cancel: TaskEvent = { type: "cancel_asked", nowMs, resumed: true };
    expect(play([cancel], { task: waiting }).task.stream?.inDoubt).toBe(true);
    const held = { ...waiting, lease: { owner: "w", untilMs: nowMs - 1 } };
    const dead: TaskEvent = { type: "dead_lettered", nowMs: nowMs + 3600_000 };
    expect(play([dead], { task: held }).task.stream?.inDoubt).toBe(true);
  });
});

describe("the placeholder of a task that waited", () => {
  it("says so no more when its turn comes", () => {
    const ahead: TaskEvent = { type: "thread_joined", nowMs, queuePosition: 1, freeAtMs: nowMs + 1000 };
    const queued = play([woken, ahead, announced]).task;
    expect(queued.state).toBe("queued");
    const begun = play([woken, shownAt(nowMs)], { task: queued });
    expect(begun.asked[0]).toEqual([{ type: "show_progress" }]);
    expect(begun.task.state).toBe("announced");
    expect(play([woken], { task: begun.task }).last).toEqual([{ type: "send" }]);
  });
});
