/** What a queue message that failed tells of its task. */
import { describe, expect, it } from "@jest/globals";
import { encodeExecutionMessage } from "@sekisho/execution/tasks/task-message.ts";
import { readQueuedIds } from "@sekisho/runtime/queued-ids.ts";
import { createTrace, readTraceId } from "@sekisho/runtime/telemetry/telemetry.ts";
import fc from "fast-check";
import { forAll } from "../doubles/for-all.ts";

const requestId = "4c2f4fea-ea11-50f9-b83b-c85683e55d29";
const taskId = "02e3d384-2b9c-846a-b4cc-409203de94c5";
const trace = createTrace();
const push = { taskId, configId: "c", state: "completed", changedAtMs: 1 } as const;

describe("the ids of a queue message", () => {
  it.each([
    [
      "what was asked",
      JSON.stringify({ type: "ask", requestId, trace, message: { text: requestId } }),
    ],
    ["a wake-up", JSON.stringify({ type: "wake", requestId, seq: 1 })],
    ["a completion push", JSON.stringify({ request_id: requestId, task_id: taskId })],
  ])("are those of the request, of %s", (_name, body) => {
    expect(readQueuedIds(body).request_id).toBe(requestId);
  });

  it("are those of the trace, where it came with the message", () => {
    expect(readQueuedIds(JSON.stringify({ requestId, trace })).trace_id).toBe(readTraceId(trace));
  });

  it.each([{ taskId }, { push: { ...push, attempt: 0 } }, { look: push }])(
    "are the Execution zone's own: %j",
    (message) => {
      expect(readQueuedIds(encodeExecutionMessage(message))).toMatchObject({ task_id: taskId });
    },
  );

  it("are none, of whatever is no message, and nothing else of it is told", () => {
    forAll(fc.oneof(fc.string(), fc.json()), fc.string()).hold((body, text) => {
      const bodies = [
        body,
        JSON.stringify({ requestId: text, task_id: text, trace: { traceparent: text } }),
      ];
      for (const each of bodies)
        expect(Object.values(readQueuedIds(each)).every((id) => id === undefined)).toBe(true);
    });
  });
});
