/** How people, channels and groups are named to an agent. */
import { expect, it } from "@jest/globals";
import { addNames, cleanName, listIds } from "@sekisho/verification/slack/context/names.ts";

const names: Record<string, string> = {
  U1: "kim",
  C1: "ops",
  S1: "oncall",
  U2: "x\n(U9) \u202e@everyone\u200b",
};
const nameOf = (id: string) => names[id];

it.each([
  ["@U1 asked in #C1", "@kim (U1) asked in #ops (C1)"],
  ["ask @S1, @U3 and @SRE", "ask @oncall (S1), @U3 and @SRE"],
  ["@kim (U1) and kim@U1.example, a/@U1", "@kim (U1) and kim@U1.example, a/@U1"],
  ["@U2!", "@x U9 @everyone (U2)!"],
])("addNames writes %j as %j", (text, namedText) => {
  expect(addNames(text, nameOf)).toBe(namedText);
  expect(addNames(namedText, nameOf)).toBe(namedText);
});

it("listIds lists the ids without a name, once each", () => {
  expect(listIds("@U1 @U1 #C1 @SRE #ops (C2)")).toEqual(["U1", "C1"]);
});

it("cleanName keeps a name on one line, removes brackets and invisible characters, and cuts it", () => {
  expect(cleanName(" a\n b [c] (d)\u202e\u200b ")).toBe("a b c d");
  expect(cleanName("x".repeat(500))).toHaveLength(80);
});
