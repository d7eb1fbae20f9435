import { describe, expect, it } from "@jest/globals";
import type { TaskEvent } from "@sekisho/verification/task/events.ts";
import { announced, nowMs, play, success, toSent, unavailable, woken, workerDied } from "./play.ts";

const uncertain: TaskEvent = { type: "slack_failed", nowMs, act: "announce", kind: "ambiguous" };
const deadLettered: TaskEvent = { type: "dead_lettered", nowMs };
const cancelAsked: TaskEvent = { type: "cancel_asked", nowMs, workerDied: false };

describe("the mark for reconciliation", () => {
  it.each<[string, TaskEvent[]]>([
    ["a worker died while it announced", [workerDied]],
    ["a dead letter ended the task", [woken, announced, deadLettered]],
    ["a dead letter interrupted the delivery", [...toSent, success, deadLettered]],
    ["a person canceled a task that may have been announced", [woken, cancelAsked]],
    ["Slack refused to share the files", [...toSent, success, { type: "share_refused" }]],
  ])("marks the thread for reconciliation without counting a failure: %s", (_why, events) => {
    expect(play(events).task).toMatchObject({ reconcile: true, attempts: 0 });
  });

  it("marks the thread for reconciliation after a failure of Slack until the task continues", () => {
    const { task } = play([woken, uncertain, woken, uncertain]);
    expect(task).toMatchObject({ state: "received", reconcile: true, attempts: 2 });
    const announcedTask = play([woken, announced], { task }).task;
    expect(announcedTask).toMatchObject({ state: "announced", attempts: 0 });
    expect(announcedTask).not.toHaveProperty("reconcile");
  });

  it("reconciles the thread at delivery and drops the mark afterwards", () => {
    const endedStep = play([woken, uncertain, deadLettered, woken]);
    expect(endedStep.last).toEqual([{ type: "deliver", reconcile: true }]);
    const { task } = play([{ type: "delivered" }], { task: endedStep.task });
    expect(task.state).toBe("done");
    expect(task).not.toHaveProperty("reconcile");
  });

  it("sets no mark for reconciliation after a failed call to the host", () => {
    const { task } = play([...toSent, unavailable]);
    expect(task).toMatchObject({ state: "sent", attempts: 1 });
    expect(task).not.toHaveProperty("reconcile");
  });
});
