import { expect, it } from "@jest/globals";
import { createPartialReporter } from "@sekisho/execution/agents/partial-reporter.ts";

function teller() {
  let nowMs = 0;
  const report = createPartialReporter({ now: () => nowMs });
  return {
    tell: (text: string) => report(() => text),
    pass(ms: number) {
      nowMs += ms;
    },
  };
}

it("reports a growing text at most four times a second", () => {
  const { tell, pass } = teller();
  expect(tell("a")).toEqual([]);
  pass(250);
  expect(tell("ab")).toEqual([{ type: "progress", partial: "ab" }]);
  pass(249);
  expect(tell("abc")).toEqual([]);
  pass(1);
  expect(tell("abcd")).toEqual([{ type: "progress", partial: "abcd" }]);
});

it("reports nothing without new text, nor after the maximum length was reported", () => {
  const { tell, pass } = teller();
  const reportLengths = [
    "",
    "a",
    "a",
    "x".repeat(11_999),
    "x".repeat(12_500),
    "x".repeat(13_000),
  ].map((text) => {
    pass(1000);
    return tell(text).length;
  });
  expect(reportLengths).toEqual([0, 1, 0, 1, 1, 0]);
});
