/** Tells a model's reasoning from its answer. */
import { describe, expect, it } from "@jest/globals";
import { removeReasoning } from "@sekisho/execution/agents/reasoning.ts";
import fc from "fast-check";
import { forAll } from "../../doubles/for-all.ts";

const answerIn = (text: string) => removeReasoning(text, { isWhole: true }).text;

const reasoned: [string, string][] = [
  ["in a think tag", "<think>\nsecret\n</think>\n\nHELLO"],
  ["on one line", "<think>secret</think>HELLO"],
  ["after blank lines", "\n\n <think>secret</think>\nHELLO"],
  ["in a thinking tag", "<thinking>secret</thinking>HELLO"],
  ["in a thought tag", "<thought>\nsecret\n</thought>\nHELLO"],
  ["in a reasoning tag", "<reasoning>secret</reasoning>HELLO"],
  ["in a redacted tag", "<redacted_thinking>secret</redacted_thinking>HELLO"],
  ["in capitals", "<THINK>secret</THINK>HELLO"],
  ["in a tag with a prefix", "<seed:think>secret</seed:think>HELLO"],
  ["in a tag with attributes", '<think lang="en">secret</think >HELLO'],
  ["in brackets", "[THINK]secret[/THINK]HELLO"],
  ["between triangle characters", "◁think▷secret◁/think▷HELLO"],
  ["in special tokens", "<|START_THINKING|>secret<|END_THINKING|>HELLO"],
  ["in tags that do not match", "<think>secret</thinking>HELLO"],
  ["without an opening tag", "Okay, secret.\n</think>\n\nHELLO"],
  ["without an opening tag, on one line", "secret</think>HELLO"],
  ["in two places", "<think>secret</think>\n<think>secret</think>HELLO"],
  ["nested", "<think>secret<think>secret</think>secret</think>HELLO"],
  ["nested on lines", "<think>\nsecret\n<think>\nsecret\n</think>\nsecret\n</think>\nHELLO"],
  ["after two opening tags", "<think>\n<think>\nsecret\n</think>\nHELLO"],
  ["with an opening tag in its text", "<think>secret: what does <think> mean?</think>HELLO"],
  ["with a closing tag as code", "<think>secret `</think>` secret\n</think>HELLO"],
  ["with an unclosed code block", "<think>\n```\nsecret\n</think>\nHELLO"],
];

describe("reasoning in an answer", () => {
  it.each(reasoned)("removes reasoning %s", (_, text) => {
    expect(answerIn(text)).toBe("HELLO");
  });

  it.each(reasoned)("removes reasoning %s wherever the text is cut off", (_, text) => {
    // Before a closing tag without an opening one, nobody can know that the text is reasoning.
    const end =
      /^[^[<◁]*</.test(text) && !text.trim().startsWith("<") ? text.indexOf("</think>") + 8 : 0;
    for (let length = end; length <= text.length; length++) {
      const { text: partial } = removeReasoning(text.slice(0, length), { isWhole: false });
      expect("HELLO".startsWith(partial.trim())).toBe(true);
    }
  });

  it.each([
    ["between paragraphs", "First.\n\n<think>\nsecret\n</think>\n\nSecond.", "First.\n\nSecond."],
    ["up to its end if it is never closed", "HELLO\n<think>secret", "HELLO"],
    ["from a text that holds nothing else", "<think>secret", ""],
  ])("removes reasoning %s", (_, text, answer) => {
    expect(answerIn(text)).toBe(answer);
  });
});

describe("a text about reasoning", () => {
  it.each([
    "The tag <think> opens the reasoning.",
    "Models write <think>draft</think> before they answer.",
    "Use `<think>draft</think>` as an example.",
    "`<think>` opens it.\n`</think>` closes it.",
    "It ends with `</think>`.",
    'It ends with "</think>".',
    "Like this:\n```xml\n<think>\ndraft\n</think>\n```\nThen the answer.",
    "Like this:\n~~~\n<think>\ndraft\n</think>\n~~~",
    "- <think>: opens\n- </think>: closes",
    "[Think] twice. [think]",
    "<think/> is empty.",
    "<thinker>x</thinker> and <b>thinking</b> stay.",
    "I think a < b, [link](x) and <https://example.com>.\n",
    "  Spaces around it stay. \n",
  ])("keeps %j unchanged", (text) => {
    expect(answerIn(text)).toBe(text);
  });

  it("keeps text about reasoning that follows reasoning", () => {
    const text =
      "<think>The user asks about <think>.</think>The tags <think> and </think> enclose it.";
    expect(answerIn(text)).toBe("The tags <think> and </think> enclose it.");
  });
});

it("keeps a text without tags unchanged, and returns a prefix of it for any beginning", () => {
  const text = fc.string({
    unit: fc.constantFrom("a", " ", "\n", "`", "~", "<", "/", "[", ">", "関"),
    maxLength: 40,
  });
  forAll(text, fc.nat(40)).hold((whole, length) => {
    expect(answerIn(whole)).toBe(whole);
    expect(whole.startsWith(removeReasoning(whole.slice(0, length), { isWhole: false }).text)).toBe(
      true,
    );
  });
});

it("reports whether reasoning had an opening tag", () => {
  const kinds = [
    "HELLO",
    "<think>a</think>HELLO",
    "a</think>HELLO",
    "<think>a</think>b</think>HELLO",
  ];
  expect(kinds.map((text) => removeReasoning(text, { isWhole: true }).reasoning)).toEqual([
    "none",
    "tagged",
    "unopened",
    "tagged",
  ]);
});
