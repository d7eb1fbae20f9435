/** Cells that people of the workspace wrote. */
import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { csvLine } from "../../../lib/cli/usage/csv.ts";

describe("a line of CSV", () => {
  it.each([
    ["=1+1", "'=1+1"],
    ["x;=cmd|calc!A0", `"x;'=cmd|calc!A0"`],
    ["x\t@SUM(A1)", `"x\t'@SUM(A1)"`],
    ["x\r\n -1", `"x\r\n' -1"`],
    ['x;"=cmd"', `"x;'""=cmd"""`],
    ["\tx", `"'\tx"`],
    ["a;b", `"a;b"`],
    ["a = b - c", "a = b - c"],
    ["\u001b[2J\u0007\u009bhi", "[2Jhi"],
    [undefined, ""],
    [-3, "-3"],
  ])("has %j as %j", (cell, line) => {
    expect(csvLine([cell])).toBe(line);
  });

  it("has no cell that a spreadsheet calculates, whether it splits at commas, semicolons or tabs", () => {
    const piece = fc.constantFrom("=", "-", "＝", ";", "\t", "\n", "\r\n", " ", '"', ",", "a");
    const text = fc.array(piece, { maxLength: 8 }).map((pieces) => pieces.join(""));
    fc.assert(
      fc.property(text, (any) => {
        for (const cell of csvLine(["head", any])
          .slice("head,".length)
          .split(/[;\t\r\n]/)) {
          expect(cell).not.toMatch(/^["\p{Zs}]*[=+\-@＝＋－＠]/u);
        }
      }),
    );
  });
});
