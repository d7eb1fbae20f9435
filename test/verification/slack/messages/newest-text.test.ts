import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { lastPart, newestText } from "../../../../lambdas/verification/slack/messages/task-text.ts";

const maxLength = 200;

describe("the end of what is being written", () => {
  it("is all of it where it fits", () => {
    expect(newestText({ text: "One.\n\nTwo.", maxLength })).toBe("One.\n\nTwo.");
  });

  it("closes code that is still being written", () => {
    expect(newestText({ text: "Look:\n```ts\nconst a", maxLength })).toBe("Look:\n```ts\nconst a\n```");
  });

  it("begins with a whole line and says that something stands before", () => {
    const text = Array.from({ length: 50 }, (_, line) => `Line ${line}.`).join("\n");
    expect(newestText({ text, maxLength })).toMatch(/^…\n\nLine \d+\.\n(Line \d+\.\n)+Line 49\.$/);
  });

  it("opens the code that it begins in", () => {
    const text = `\`\`\`ts\n${Array.from({ length: 50 }, (_, line) => `line(${line});`).join("\n")}`;
    expect(newestText({ text, maxLength })).toMatch(/^…\n\n```ts\nline\(\d+\);\n(.|\n)*line\(49\);\n```$/);
  });

  it("shows the end of one endless line", () => {
    const text = `${"word ".repeat(200)}end`;
    expect(newestText({ text, maxLength })).toMatch(/^…\n\nword (word )+end$/);
  });

  it.each([200, 201])("begins with no half of a character, in %d", (length) => {
    const text = newestText({ text: "👩".repeat(500), maxLength: length });
    expect(text).toMatch(/^…\n\n👩(👩)+$/u);
    expect(text.isWellFormed()).toBe(true);
  });

  it("fits, whatever is written", () => {
    const piece = fc.oneof(
      fc.constantFrom(
        "\n",
        "\n\n",
        "```\n",
        "- item\n",
        "👩‍👩‍👧‍👦",
        "関所は検問所です。",
        "word ".repeat(20),
        "| a | b |\n|---|---|\n",
      ),
      fc.string({ unit: "binary", maxLength: 100 }),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => {
        const text = newestText({ text: pieces.join(""), maxLength });
        expect(text.length).toBeLessThanOrEqual(maxLength);
        expect(text.isWellFormed()).toBe(true);
        if (pieces.join("").trim() !== "") expect(text.trim()).not.toBe("");
      }),
      { numRuns: 300 },
    );
  });
});

describe("the part of a long text that is read", () => {
  const words = (length: number) => "word ".repeat(length / 5);
  const part = (text: string) => lastPart({ text, maxLength });

  it("is all of it where it is short", () => {
    expect(part("One.\n\nTwo.")).toBe("One.\n\nTwo.");
  });

  it("does not grow with the text", () => {
    const lengths = [words(1000), words(300_000), `\`\`\`\n${"line\n".repeat(60_000)}`].map(
      (text) => part(text).length,
    );
    expect(Math.max(...lengths)).toBeLessThanOrEqual(maxLength + 10);
  });

  it("shows nothing of a comment that began before it", () => {
    expect(part(`${words(500)}<!-- ${"secret ".repeat(50)}--> seen`)).toBe("…\n\n seen");
    expect(part(`${words(500)}<!-- ${"secret ".repeat(50)}`)).toBe("…\n\n");
    expect(part(`<!-- a --> ${words(500)}`)).toBe(`…\n\n${words(200)}`);
  });

  it("goes on as code where it begins in code", () => {
    expect(part(`\`\`\`ts\n${"line\n".repeat(100)}`)).toMatch(/^…\n\n```ts\n(line\n)+$/);
    expect(part(`\`\`\`ts\n\`\`\`\n${"line\n".repeat(100)}`)).toMatch(/^…\n\n(line\n)+$/);
  });
});
