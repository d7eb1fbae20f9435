/** A dead letter that only a newer version can handle is left to it. */
import { describe, expect, it } from "@jest/globals";
import { NewerRecordError } from "@sekisho/runtime/engine/record-version.ts";
import { silentLog } from "@sekisho/runtime/log.ts";
import { createHandleDeadLetter } from "@sekisho/verification/worker/messages/dead-letter.ts";
import type { StepOptions } from "@sekisho/verification/worker/step/step.ts";

const requestId = "0d1c2b3a-4f5e-5a6b-8c7d-9e0f1a2b3c4d";
const weekMs = 7 * 24 * 3600_000;

async function deadLetter(message: object, nowMs: number) {
  const sentBodies: object[] = [];
  let isKept = false;
  const store = { get: () => Promise.reject(new NewerRecordError()) };
  const queue = {
    send: async ({ body }: { body: string }) => void sentBodies.push(JSON.parse(body)),
  };
  const options = { store, queue, log: silentLog, now: () => nowMs } as unknown as StepOptions;
  const keep = async () => {
    isKept = true;
  };
  await createHandleDeadLetter(options)({ body: JSON.stringify(message), keep });
  return { sent: sentBodies, isKept };
}

describe.each([
  ["a message of an unknown type", { type: "next_wake", requestId }],
  ["a wake-up of a record that cannot be read", { type: "wake", requestId, seq: 1 }],
])("%s", (_what, message) => {
  it("sends a message for a newer version to the queue again", async () => {
    expect(await deadLetter(message, 5)).toEqual({
      sent: [{ ...message, leftSinceMs: 5 }],
      isKept: false,
    });
  });

  it("stores a message for a newer version for an operator after a week", async () => {
    expect(await deadLetter({ ...message, leftSinceMs: 0 }, weekMs + 1)).toEqual({
      sent: [],
      isKept: true,
    });
  });
});

it("a message of unknown type that names no task is stored at once", async () => {
  expect(await deadLetter({ type: "next_wake" }, 5)).toEqual({ sent: [], isKept: true });
});
