import { describe, expect, it } from "@jest/globals";
import {
  buttonElement,
  context,
  cut,
  plan,
  section,
  shorten,
  spanText,
} from "@sekisho/verification/slack/messages/blocks.ts";

describe("a text in a block", () => {
  it("keeps a text that fits exactly and cuts a longer one at a line or a word", () => {
    const fitting = `${"a".repeat(149)} ${"b".repeat(150)}`;
    expect(cut({ text: fitting, maxLength: 300 })).toBe(fitting);
    expect(cut({ text: `${fitting} c`, maxLength: 300 })).toMatch(/^a+( b+)?\n…$/);
  });
});

/** The text of a block where Slack limits it. */
const limitedTexts: Readonly<Record<string, (text: string) => unknown>> = {
  section: (text) => Object(section(text).text).text,
  context: (text) => Object(context(text).elements)[0].text,
  "plan title": (text) => plan({ title: text, steps: [], locale: "en" }).title,
  "step title": (title) => {
    const steps = [{ id: "a", title, status: "pending" as const }];
    return Object(plan({ title: "t", steps, locale: "en" }).tasks)[0].title;
  },
  "button label": (label) =>
    Object(buttonElement({ requestId: "r", button: { type: "retry" }, label }).text).text,
};

it.each([
  ["section", 2900],
  ["context", 1900],
  ["plan title", 150],
  ["step title", 150],
  ["button label", 75],
])(
  "a %s has at most %i characters, because Slack refuses the whole message otherwise",
  (kind, most) => {
    const show = (length: number) => String(limitedTexts[kind]?.("a".repeat(length)));
    expect(show(most)).toBe("a".repeat(most));
    expect(show(most + 1)).toMatch(/…$/);
    expect(show(most + 1).length).toBeLessThanOrEqual(most);
  },
);

describe("a duration", () => {
  it.each([
    [0, "1 second", "1秒"],
    [60_000, "60 seconds", "60秒"],
    [60_001, "2 minutes", "2分"],
    [3_600_000, "60 minutes", "60分"],
    [3_600_001, "2 hours", "2時間"],
    [86_400_000, "24 hours", "24時間"],
    [86_400_001, "2 days", "2日"],
  ])("rounds a duration of %i ms up: %s", (spanMs, en, ja) => {
    expect(spanText({ spanMs, locale: "en" })).toBe(en);
    expect(spanText({ spanMs, locale: "ja" })).toBe(ja);
  });
});

describe("a text in one line", () => {
  it("keeps a line that fits exactly and shortens a longer one with an ellipsis", () => {
    expect(shorten({ text: "a".repeat(10), maxLength: 10 })).toBe("a".repeat(10));
    expect(shorten({ text: "a".repeat(11), maxLength: 10 })).toBe(`${"a".repeat(9)}…`);
    expect(shorten({ text: "one\n two", maxLength: 10 })).toBe("one two");
  });

  it("never splits a character", () => {
    expect(shorten({ text: `${"a".repeat(8)}👩‍👧${"b".repeat(9)}`, maxLength: 12 })).toBe(
      `${"a".repeat(8)}…`,
    );
  });
});
