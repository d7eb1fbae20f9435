import { describe, expect, it } from "@jest/globals";
import { describeEventName } from "@sekisho/local/recorder/event-text.ts";
import { createTaskWatch, type WatchedStep } from "@sekisho/local/recorder/task-watch.ts";
import type { Task, TaskOutcome } from "@sekisho/verification/task/task.ts";

const requestId = "3f0f6b0e-5a35-4b0c-9d5e-0d7d5a6f3a11";

function watch() {
  const steps: WatchedStep[] = [];
  return { steps, ...createTaskWatch({ add: (step) => steps.push(step), now: () => 7 }) };
}

describe("the timeline of a task", () => {
  it("shows the progress of the agent in the title of a response", () => {
    const { steps, tap } = watch();
    const respond = (id: string, method: string, result: object) =>
      tap({ direction: "response", id, method, body: { result }, atMs: 1 });
    respond(requestId, "execute_task", { status: "accepted", task_id: "t" });
    for (const [id, progress] of [
      ["a", { text: "Step 2 of 5", percent: 40 }],
      ["b", { percent: 60 }],
      ["c", { text: "x".repeat(1000) }],
    ] as const) {
      tap({
        direction: "request",
        id,
        method: "get_task",
        body: { params: { task_id: "t" } },
        atMs: 1,
      });
      respond(id, "get_task", { status: "accepted", task_id: "t", progress });
    }
    const titles = steps.filter(({ kind }) => kind === "response").map(({ title }) => title);
    expect(titles).toEqual([
      "execute_task",
      "get_task: Step 2 of 5",
      "get_task",
      `get_task: ${"x".repeat(80)}`,
    ]);
    expect(new Set(steps.map((step) => step.requestId))).toEqual(new Set([requestId]));
  });

  it("recognizes the polls of a task that was accepted before this process began", () => {
    const { steps, observe, tap } = watch();
    const task = { state: "waiting", call: { taskId: "t" } } as Task;
    observe({
      requestId,
      event: { type: "woken", nowMs: 1, workerDied: false },
      task,
      effects: [],
    });
    tap({
      direction: "request",
      id: "a",
      method: "get_task",
      body: { params: { task_id: "t" } },
      atMs: 1,
    });
    expect(steps.map((step) => [step.requestId, step.kind])).toEqual([
      [requestId, "claim"],
      [requestId, "request"],
    ]);
  });

  it.each<[TaskOutcome | undefined, "failed" | "stopped" | undefined]>([
    [undefined, undefined],
    [{ type: "answer", text: "hi" }, undefined],
    [{ type: "failed", reason: "execution_failed", lost: false }, "failed"],
    [{ type: "failed", reason: "canceled", lost: false }, "stopped"],
    [{ type: "canceling", count: 1 }, undefined],
    [{ type: "refused" }, "stopped"],
    [{ type: "too_old" }, "stopped"],
  ])("marks a task with the outcome %j as %s", (outcome, mark) => {
    const { steps, observe } = watch();
    const task = { state: "done", outcome } as Task;
    observe({ requestId, event: { type: "delivered" }, task, effects: [] } as unknown as Parameters<
      typeof observe
    >[0]);
    expect(steps).toMatchObject([
      { kind: "decision", title: `${describeEventName("delivered")} → done` },
    ]);
    const [step] = steps;
    expect([step?.failed, step?.stopped]).toEqual([
      mark === "failed" || undefined,
      mark === "stopped" || undefined,
    ]);
  });

  it("marks only the step with which a task failed", () => {
    const { steps, observe } = watch();
    const task = {
      state: "done",
      outcome: { type: "failed", reason: "execution_failed", lost: false },
    } as Task;
    for (const type of ["call_failed", "delivered", "cleaned_up"])
      observe({
        ...{ requestId, task, effects: [] },
        event: { type, error: { reason: "execution_failed" } },
      } as unknown as Parameters<typeof observe>[0]);
    expect(steps.map(({ failed }) => failed)).toEqual([true, undefined, undefined]);
  });
});
