import { expect, it } from "@jest/globals";
import { overlapsOf, parseAgentLog } from "./stored-records.ts";

const overlaps = (...lines: string[]) =>
  Object.fromEntries(overlapsOf(parseAgentLog(lines.map((line) => `${line}\n`).join(""))));

it("lists the agents at work when another one started", () => {
  expect(
    overlaps("start a 7", "start b 7", "end a 7", "start c 7", "end c 7", "end b 7", "start d 7"),
  ).toEqual({
    a: [],
    b: ["a"],
    c: ["b"],
    d: [],
  });
});

it("treats the agents of a terminated process as ended", () => {
  expect(overlaps("start a 7", "start b 8", "start c 8")).toEqual({ a: [], b: [], c: ["b"] });
});
