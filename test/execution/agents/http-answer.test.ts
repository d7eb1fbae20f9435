/** Whatever an endpoint sends, the agent `http` reads an answer or fails with a RemoteError. */
import { expect, it } from "@jest/globals";
import {
  readJsonAnswer,
  readQuestion,
  refuseError,
} from "@sekisho/execution/agents/http-answer.ts";
import { createFrameReader } from "@sekisho/execution/agents/http-frames.ts";
import { RemoteError } from "@sekisho/execution/agents/remote-call.ts";
import fc from "fast-check";
import { forAll } from "../../doubles/for-all.ts";

/** What `read` returns, or undefined for a RemoteError. */
function outcomeOf<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    expect(error).toBeInstanceOf(RemoteError);
    return undefined;
  }
}

const name = fc.constantFrom(
  "result",
  "error",
  "event",
  "data",
  "type",
  "text",
  "content",
  "__proto__",
);
const json = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    ...[fc.string(), fc.integer(), fc.boolean(), fc.constant(null)],
    fc.array(tie("value"), { maxLength: 3 }),
    fc.dictionary(fc.oneof(name, fc.constantFrom("contentBlockDelta", "delta")), tie("value")),
  ),
})).value;
const path = fc.constantFrom(undefined, "$", "$.result", "$.data[0].text", "$[-1]");

it("reads a text from any JSON, or refuses it", () => {
  forAll(json, path).hold((body, at) => {
    const text = outcomeOf(() => {
      refuseError(body);
      return readJsonAnswer(body, at);
    });
    expect(text === undefined || text.trim() !== "").toBe(true);
    const question = at === undefined ? undefined : outcomeOf(() => readQuestion(body, at));
    expect(question === undefined || question.prompt.trim() !== "").toBe(true);
  }, 1000);
});

it("reads a text from any events, or refuses them", () => {
  const event = fc.record({
    event: fc.constantFrom("", "message", "end", "x"),
    data: fc.oneof(
      json.map((value) => JSON.stringify(value)),
      fc.string(),
    ),
    isCut: fc.boolean(),
  });
  forAll(fc.array(event, { maxLength: 5 }), path).hold((events, at) => {
    const reader = createFrameReader({ path: at });
    const text = outcomeOf(() => {
      const pieces = events.map((each) => reader.read(each));
      const firstAt = pieces.findLastIndex(({ isFirst }) => isFirst);
      const texts = pieces.slice(Math.max(firstAt, 0)).map((piece) => piece.text);
      return texts.join("") + reader.end().text;
    });
    expect(text === undefined || text.trim() !== "").toBe(true);
  }, 1000);
});
