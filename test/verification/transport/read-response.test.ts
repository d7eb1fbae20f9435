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
