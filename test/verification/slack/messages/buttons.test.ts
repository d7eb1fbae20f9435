import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { decodeButton, encodeButton } from "../../../../lambdas/verification/slack/messages/blocks.ts";

const requestId = "0d1c2b3a-4f5e-5a6b-8c7d-9e0f1a2b3c4d";
const value = (fields: unknown) => JSON.stringify(fields);

describe("a button", () => {
  it("is read as it was written", () => {
    fc.assert(
      fc.property(fc.uuid(), fc.nat(), fc.nat({ max: 24 }), (id, question, option) => {
        const cancel = { requestId: id, button: { type: "cancel" } } as const;
        const answer = { requestId: id, button: { type: "answer", question, option } } as const;
        expect(decodeButton(encodeButton(cancel))).toEqual(cancel);
        expect(decodeButton(encodeButton(answer))).toEqual(answer);
      }),
    );
  });

  it("has another action for every choice, as Slack demands within one message", () => {
    const actions = [0, 1, 2].map(
      (option) => encodeButton({ requestId, button: { type: "answer", question: 0, option } }).action_id,
    );
    expect(actions).toEqual(["sekisho_answer_0", "sekisho_answer_1", "sekisho_answer_2"]);
  });

  it.each([
    ["of another app", "approve", value({ r: requestId })],
    ["without JSON", "sekisho_cancel", requestId],
    ["with null", "sekisho_cancel", "null"],
    ["with a list", "sekisho_cancel", value([requestId])],
    ["without a request", "sekisho_cancel", value({})],
    ["with something that is no UUID", "sekisho_cancel", value({ r: "0d1c2b3a" })],
    ["with more fields", "sekisho_cancel", value({ r: requestId, x: 1 })],
    ["with a choice where none is", "sekisho_cancel", value({ r: requestId, q: 0, o: 0 })],
    ["without a choice", "sekisho_answer_0", value({ r: requestId })],
    ["with the choice of another button", "sekisho_answer_0", value({ r: requestId, q: 0, o: 1 })],
    ["with a negative question", "sekisho_answer_1", value({ r: requestId, q: -1, o: 1 })],
    ["with half a choice", "sekisho_answer_1.5", value({ r: requestId, q: 0, o: 1.5 })],
    ["with a choice in letters", "sekisho_answer_1", value({ r: requestId, q: 0, o: "1" })],
    ["with capitals", "sekisho_cancel", value({ r: requestId.toUpperCase() })],
    ["written in another way", "sekisho_cancel", `{ "r": "${requestId}" }`],
    ["of great length", "sekisho_cancel", value({ r: requestId }) + " ".repeat(300)],
  ])("%s is none of ours", (_, action_id, forged) => {
    expect(decodeButton({ action_id, value: forged })).toBeUndefined();
  });
});
