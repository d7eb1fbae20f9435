import { describe, expect, it } from "@jest/globals";
import {
  createMetadata,
  metadataSchema,
  type PostKey,
  type PostKind,
  readPostKey,
} from "@sekisho/verification/slack/api/post-keys.ts";
import fc from "fast-check";
import { forAll } from "../../../doubles/for-all.ts";

/** The numbers of version 1.0.0, first and last. */
const numbers: Record<PostKind, [number, number]> = {
  placeholder: [0, 0],
  answer: [1, 500],
  mrkdwn_answer: [501, 1000],
  own_text: [1001, 2000],
  question: [2001, 3000],
  opening: [3001, 3500],
  late_change: [3501, 4000],
  files: [4001, 5000],
  stream: [5001, 6000],
  replaced: [6001, 7000],
};
const kinds = Object.keys(numbers) as PostKind[];

const requestId = "0d1c2b3a-4f5e-5a6b-8c7d-9e0f1a2b3c4d";
const write = (key: PostKey) => JSON.parse(JSON.stringify(createMetadata(key)));
const readKey = (metadata: unknown) => readPostKey(metadataSchema.parse(metadata));
const readNumber = (part: unknown) =>
  readKey({ event_type: "sekisho_message", event_payload: { request_id: requestId, part } });

describe("the key of a post", () => {
  it.each(kinds)("keeps the numbers of version 1.0.0: %s", (kind) => {
    const [first, last] = numbers[kind];
    for (const part of [first, last]) {
      const key = { requestId, kind, index: part - first };
      expect(write(key).event_payload).toEqual({ request_id: requestId, part });
      expect(readNumber(part)).toEqual(key);
    }
  });

  it("comes back from Slack as it was written", () => {
    forAll(
      fc.constantFrom(...kinds),
      fc.nat({ max: 999 }),
      fc.option(fc.string({ minLength: 1 }), { nil: undefined }),
    ).hold((kind, nth, destination) => {
      const [first, last] = numbers[kind];
      const index = Math.min(nth, last - first);
      const key = { requestId, kind, index, ...(destination && { destination }) };
      expect(readKey(write(key))).toEqual(key);
    });
  });

  it("reads a kind for each number of a post, and none for other values", () => {
    forAll(fc.nat()).hold((part) => {
      const key = readNumber(part);
      expect(key && write(key).event_payload.part).toBe(part);
    });
    for (const part of [-1, 0.5, "1", null, undefined]) expect(readNumber(part)).toBeUndefined();
  });
});
