import { describe, expect, it } from "@jest/globals";
import { formatJson } from "@sekisho/contracts/a2a/adk-part.ts";

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
});
