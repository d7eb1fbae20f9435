/** Tokens as agents tell them, under whatever names. */
import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { tokensOf } from "../../../lambdas/verification/task/task.ts";

describe("what an agent says that it used", () => {
  it.each([
    ["the contract's names", { input_tokens: 3, output_tokens: 4 }, { input: 3, output: 4, total: 7 }],
    [
      "chat completions",
      { prompt_tokens: 3, completion_tokens: 4, total_tokens: 9 },
      { input: 3, output: 4, total: 9 },
    ],
    ["Bedrock's", { inputTokens: 3, outputTokens: 4, totalTokens: 7 }, { input: 3, output: 4, total: 7 }],
    [
      "Gemini's",
      { promptTokenCount: 3, candidatesTokenCount: 4, totalTokenCount: 7 },
      { input: 3, output: 4, total: 7 },
    ],
    ["one side only", { output_tokens: 0 }, { output: 0, total: 0 }],
    ["what belongs to it beside what does not", { input_tokens: 1, model: "m", cost: 0.1 }, { input: 1, total: 1 }],
  ])("is understood by %s", (_, usage, tokens) => {
    expect(tokensOf(usage)).toEqual(tokens);
  });

  it.each([
    ["nothing", undefined],
    ["other things", { seconds: 3, tools: ["a"] }],
    ["words", { input_tokens: "3" }],
    ["what cannot be counted", { input_tokens: -1, output_tokens: 0.5, total_tokens: Number.NaN }],
  ])("is no number of tokens where it is %s", (_, usage) => {
    expect(tokensOf(usage)).toBeUndefined();
  });

  it("never throws, and gives whole numbers that a record can hold, whatever is said", () => {
    const names = fc.constantFrom("input_tokens", "prompt_tokens", "OutputTokens", "total-tokens", "__proto__", "x");
    fc.assert(
      fc.property(fc.dictionary(names, fc.anything()), (usage) => {
        for (const count of Object.values(tokensOf(usage) ?? {})) expect(Number.isSafeInteger(count)).toBe(true);
      }),
    );
  });
});
