import { describe, expect, it } from "@jest/globals";
import { answerBytesMember } from "@sekisho/verification/task/events.ts";
import { readResponse } from "@sekisho/verification/transport/read-response.ts";

describe("a large answer", () => {
  it.each([
    [65_535, undefined],
    [65_536, 65_536],
  ])("notes the size of an answer of %i bytes as %s", (receivedBytes, notedBytes) => {
    const id = "0d1c2b3a-4f5e-5a6b-8c7d-9e0f1a2b3c4d";
    const result = { status: "accepted", task_id: "t" };
    const body = Buffer.from(JSON.stringify({ jsonrpc: "2.0", id, result }));
    const call = { method: "get_task", params: {}, id, requestId: id, dialect: "zone" } as const;
    const readResult = readResponse({ response: { body, status: 200, receivedBytes }, ...call });
    expect(Object(readResult)[answerBytesMember]).toBe(notedBytes);
  });
});

describe("a peer that does not know the method", () => {
  it.each([
    ["execute_task", "zone", "ResponseKnowsNoTasks"],
    ["cancel_task", "zone", undefined],
    ["execute_task", "a2a", undefined],
  ] as const)("explains %s in the dialect %s as %s", async (method, dialect, kind) => {
    const error = { code: -32601, message: "hunter2" };
    const body = Buffer.from(JSON.stringify({ jsonrpc: "2.0", id: "1", error }));
    const params = { task_id: "t" } as never;
    const call = { method, params, id: "1", requestId: "1", dialect };
    const thrown = await new Promise((resolve) =>
      resolve(readResponse({ response: { body, status: 200 }, ...call })),
    ).catch((each: unknown) => each);
    expect(thrown).toMatchObject({ reason: "method_not_found" });
    const { cause, message } = Object(thrown);
    expect({ kind: cause?.name, isShown: message.includes("hunter2") }).toEqual({
      kind,
      isShown: false,
    });
  });
});
