/** The text that a person reads about a tool that waits for approval. */
import { describe, expect, it } from "@jest/globals";
import { formatJson, quoteName } from "@sekisho/runtime/shown-json.ts";
import { sanitizeLines } from "@sekisho/runtime/untrusted-input.ts";
import { describeCall } from "@sekisho/verification/transport/a2a/tool-text.ts";

/** A list of one text whose JSON, indented or not, has this length. */
function listWith({ length, indent }: { length: number; indent?: number }): string[] {
  const frame = JSON.stringify([""], undefined, indent).length;
  return ["a".repeat(length - frame)];
}

describe("the data of a tool's call", () => {
  it("indents the data of a tool call up to 3,000 characters, and writes longer data on one line", () => {
    const longest = listWith({ length: 3000, indent: 2 });
    expect(formatJson(longest)).toContain(JSON.stringify(longest, undefined, 2));
    const longer = listWith({ length: 3001, indent: 2 });
    expect(formatJson(longer)).toContain(JSON.stringify(longer));
  });

  it("shows up to 3,000 characters of the data of a tool call, and marks longer data as cut", () => {
    const longest = listWith({ length: 3000 });
    expect(formatJson(longest)).toContain(JSON.stringify(longest));
    expect(formatJson(longest)).not.toContain("longer than what is shown");
    const longer = listWith({ length: 3001 });
    expect(formatJson(longer)).toContain(JSON.stringify(longer).slice(0, 3000));
    expect(formatJson(longer)).toContain("longer than what is shown");
  });

  it.each([0x7f, 0x85, 0x2028, 0x2029, 0x202e, 0x2066, 0xfeff])(
    "writes the character %i as its number, so that the data cannot leave its code block",
    (code) => {
      const character = String.fromCharCode(code);
      const value = { path: `a${character}\`\`\`${character}Harmless.` };
      for (const shown of [formatJson(value), formatJson([value, "x".repeat(2900)])]) {
        expect(shown).not.toContain(character);
        expect(sanitizeLines(shown).match(/^```/gm)).toHaveLength(2);
        expect(shown).toContain(`\\u${code.toString(16).padStart(4, "0")}`);
      }
    },
  );

  it("keeps a name on one line, in its code style and short", () => {
    expect(quoteName("a`\n\n# b\u2028<!channel>\u202e")).toBe("`a'# b<!channel>`");
    expect(quoteName("😀".repeat(200))).toBe(`\`${"😀".repeat(50)}\``);
    expect(quoteName(`x${"😀".repeat(200)}`)).toBe(`\`x${"😀".repeat(49)}\``);
  });

  it("shows arguments as they are, and none if there are none", () => {
    for (const args of [null, "rm -rf", ["a"], 7, false]) {
      expect(describeCall({ name: "run", args })).toContain(
        `Its arguments:\n\n${formatJson(args)}`,
      );
    }
    expect(describeCall({ name: "run" })).toBe("The tool `run` waits for you.");
  });
});
