/** The id that a log line has of a message of the Execution zone's queue that failed. */
import { expect, it } from "@jest/globals";
import { encodeExecutionMessage, readExecutionIds } from "@sekisho/execution/tasks/task-message.ts";
import fc from "fast-check";
import { forAll } from "../../doubles/for-all.ts";

const taskId = "02e3d384-2b9c-846a-b4cc-409203de94c5";
const push = { taskId, configId: "c", state: "completed", changedAtMs: 1 } as const;

it.each([
  { taskId },
  { push: { ...push, attempt: 0 } },
  { look: push },
  { vote: { taskId, voterId: "v" } },
])("reads the task id of %j", (message) => {
  expect(readExecutionIds(encodeExecutionMessage(message))).toEqual({ task_id: taskId });
});

it("reads no task id from an invalid message", () => {
  forAll(fc.oneof(fc.string(), fc.json()), fc.string()).hold((body, text) => {
    const bodies = [body, JSON.stringify({ taskId: text }), JSON.stringify({ push: text })];
    for (const each of bodies) expect(readExecutionIds(each)).toEqual({ task_id: undefined });
  });
});
