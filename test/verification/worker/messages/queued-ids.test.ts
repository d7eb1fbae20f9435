/** The ids that a log line has of a queue message that failed. */
import { describe, expect, it } from "@jest/globals";
import { createTrace, readTraceId } from "@sekisho/runtime/telemetry/telemetry.ts";
import { readQueuedIds } from "@sekisho/verification/worker/messages/queued-ids.ts";
import fc from "fast-check";
import { forAll } from "../../../doubles/for-all.ts";

const requestId = "4c2f4fea-ea11-50f9-b83b-c85683e55d29";
const taskId = "02e3d384-2b9c-846a-b4cc-409203de94c5";
const trace = createTrace();

describe("the ids of a queue message", () => {
  it.each([
    ["a user message", { type: "ask", requestId, trace, message: { text: requestId } }],
    ["a wake-up", { type: "wake", requestId, seq: 1 }],
    ["a completion push", { request_id: requestId, task_id: taskId }],
  ])("reads the request id of %s", (_name, message) => {
    expect(readQueuedIds(JSON.stringify(message)).request_id).toBe(requestId);
  });

  it("reads the task id of a completion push", () => {
    const push = { request_id: requestId, task_id: taskId };
    expect(readQueuedIds(JSON.stringify(push)).task_id).toBe(taskId);
  });

  it("reads the trace of the message", () => {
    expect(readQueuedIds(JSON.stringify({ requestId, trace })).trace_id).toBe(readTraceId(trace));
  });

  it("reads nothing from an invalid message", () => {
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
