import { describe, expect, it } from "@jest/globals";
import { runLoad } from "./load.ts";
import { memoryProblems } from "./load-result.ts";

describe("a thousand tasks, a hundred of them in execution at once, while a tenth of all calls fails", () => {
  it("answers each of a thousand tasks once, in order and with flat memory, while a tenth of calls fails", async () => {
    const report = await runLoad({
      tasks: 1000,
      atOnce: 100,
      failing: 0.1,
      seed: 7,
      sweepAfterMs: 2000,
    });
    expect(report.problems).toEqual([]);
    expect(report.mostAtOnce).toBeGreaterThanOrEqual(100);
    expect(memoryProblems(report.memory)).toEqual([]);
    // The run was one with failures of every party.
    const failed = { ...report.slack.failed, ...report.transport.failed };
    for (const call of [
      "chat.postMessage",
      "chat.update",
      "conversations.replies",
      "execute_task",
      "get_task",
    ]) {
      expect(failed[call]).toBeGreaterThan(10);
    }
    expect(report.repeatedEvents).toBeGreaterThan(10);
  });
});
