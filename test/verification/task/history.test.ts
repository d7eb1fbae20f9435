import { describe, expect, it } from "@jest/globals";
import type { TaskEvent } from "@sekisho/verification/task/events.ts";
import { withHistory } from "@sekisho/verification/task/history.ts";
import { woken } from "./play.ts";
import { sampleTask } from "./sample.ts";

const cancelAsked: TaskEvent = { type: "cancel_asked", nowMs: 0, workerDied: false };

describe("the history of a task", () => {
  it("records changes of the state and requests of people, but not every poll", () => {
    const waitingTask = sampleTask({ state: "waiting" });
    const event = { atMs: 7 };
    expect(
      withHistory({ ...event, previousTask: waitingTask, task: waitingTask, event: woken }).history,
    ).toEqual(waitingTask.history);
    const taskAfterWish = withHistory({
      ...event,
      previousTask: waitingTask,
      task: waitingTask,
      event: cancelAsked,
    });
    expect(taskAfterWish.history.slice(1)).toEqual([
      { atMs: 7, event: "cancel_asked", state: "waiting" },
    ]);
    const changedTask = withHistory({
      ...event,
      previousTask: waitingTask,
      task: { ...waitingTask, state: "delivering" },
      event: woken,
    });
    expect(changedTask.history.slice(1)).toEqual([
      { atMs: 7, event: "woken", state: "delivering" },
    ]);
  });

  it("keeps the first and the latest entries of the history within its limit", () => {
    let task = sampleTask();
    for (let atMs = 1; atMs <= 100; atMs++)
      task = withHistory({ previousTask: task, task, event: cancelAsked, atMs });
    expect(task.history).toHaveLength(40);
    expect(task.history[0]).toEqual(sampleTask().history[0]);
    expect(task.history.at(-1)?.atMs).toBe(100);
  });
});
