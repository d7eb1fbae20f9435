/** Records of tasks as they were stored, by this version and by the one before it. */
import { describe, expect, it } from "@jest/globals";
import { taskResult } from "../../../lambdas/execution/methods/methods.ts";
import { parseExecutionTask } from "../../../lambdas/execution/tasks/execution-task.ts";

/** As it was stored before agents could ask. */
const old = {
  id: "7d1f3c52-0d0f-8f2f-9a34-8b6a3c1f2e10",
  revision: 3,
  principal: "anyone",
  requestId: "3f0f6b0e-5a35-4b0c-9d5e-0d7d5a6f3a11",
  correlationId: "3f0f6b0e-5a35-4b0c-9d5e-0d7d5a6f3a11",
  fingerprint: "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824",
  trace: { traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01" },
  createdAtMs: 1_760_000_000_000,
  deadlineAtMs: 1_760_000_060_000,
  expiresAtMs: 1_760_086_460_000,
};

describe("a record of the version before", () => {
  it("of a task under way is read, its state as old as the task", () => {
    const lease = { owner: "me", untilMs: 1_760_000_020_000 };
    const working = { ...old, state: "working", params: { channel: "C1", text: "hello" }, lease };
    expect(parseExecutionTask(working)).toEqual({ ...working, changedAtMs: old.createdAtMs });
  });

  it("of a task that is done keeps its answer and what was made", () => {
    const artifacts = [{ name: "report.txt", text: "all is well" }];
    const done = { ...old, state: "completed", outcome: { type: "success", text: "done", artifacts } };
    const result = taskResult({ task: parseExecutionTask(done), pollAfterMs: 1000 });
    expect(result).toMatchObject({ status: "success", response_text: "done", artifacts });
  });
});

describe("a stored record", () => {
  it("that is none is refused", () => {
    for (const json of [null, 1, [], {}, { ...old, state: "unheard of" }])
      expect(() => parseExecutionTask(json)).toThrow();
  });
});
