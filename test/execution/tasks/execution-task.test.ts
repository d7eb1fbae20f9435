/** Records of tasks as they are stored. */
import { describe, expect, it } from "@jest/globals";
import { parseExecutionTask } from "../../../lambdas/execution/tasks/execution-task.ts";

const stored = {
  id: "7d1f3c52-0d0f-8f2f-9a34-8b6a3c1f2e10",
  revision: 3,
  principal: "anyone",
  requestId: "3f0f6b0e-5a35-4b0c-9d5e-0d7d5a6f3a11",
  correlationId: "3f0f6b0e-5a35-4b0c-9d5e-0d7d5a6f3a11",
  fingerprint: "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824",
  trace: { traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01" },
  createdAtMs: 1_760_000_000_000,
  changedAtMs: 1_760_000_000_000,
  deadlineAtMs: 1_760_000_060_000,
  expiresAtMs: 1_760_086_460_000,
};

describe("a stored record", () => {
  it("is read as it was written", () => {
    const lease = { owner: "me", untilMs: 1_760_000_020_000 };
    const working = { ...stored, state: "working", params: { channel: "C1", text: "hello" }, lease };
    expect(parseExecutionTask(working)).toEqual(working);
  });

  it("that is none is refused", () => {
    for (const json of [null, 1, [], {}, { ...stored, state: "unheard of" }])
      expect(() => parseExecutionTask(json)).toThrow();
  });
});
