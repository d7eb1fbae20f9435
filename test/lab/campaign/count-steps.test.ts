import { afterAll, describe, expect, it } from "@jest/globals";
import { createStepCounter, findGrowth } from "./count-steps.ts";

const counter = createStepCounter({ isSource: (url) => url.includes("count-steps.test") });
afterAll(() => counter.close());

function growthOf(run: (text: string) => unknown): string[] {
  const doublings = [500, 1000, 2000].map((length) =>
    counter.count(() => run("ab".repeat(length / 2))),
  );
  return findGrowth({ doublings, maxGrowth: 2.5, minSteps: 2000 }).map(({ pass }) => pass);
}

const positions = (text: string) => Array.from({ length: text.length }, (_, at) => at);

describe("the steps of a pass", () => {
  it.each<[string, (text: string) => unknown]>([
    ["a loop", (text) => positions(text).filter((at) => text[at] === "a").length],
    ["a search by a regular expression", (text) => text.replaceAll(/[xy]|ab/g, "c")],
    [
      "a regular expression at each position",
      (text) =>
        positions(text).map((at) => {
          const here = /a/y;
          here.lastIndex = at;
          return here.test(text);
        }),
    ],
    ["a search for each line", (text) => text.split("b").map((line) => line.indexOf("x"))],
  ])("accepts steps that grow in proportion to the text: %s", (_what, run) => {
    expect(growthOf(run)).toEqual([]);
  });

  it.each<[string, string, (text: string) => unknown]>([
    [
      "a loop in a loop",
      "countPairs",
      function countPairs(text) {
        let pairs = 0;
        for (const one of text) for (const other of text) if (one === other) pairs += 1;
        return pairs;
      },
    ],
    [
      "a regular expression that searches the remaining text at each position",
      "/x/",
      (text) => positions(text).map((at) => /x/.test(text.slice(at))),
    ],
    [
      "a replacement at each position",
      "/[xyz]/",
      (text) => positions(text).map((at) => text.slice(at).replaceAll(/[xyz]/g, "")),
    ],
    [
      "a search from each position",
      "String.indexOf",
      (text) => positions(text).map((at) => text.indexOf("x", at)),
    ],
    [
      "a copy at each position",
      "Array.slice",
      (text) => positions(text).map((at) => [...text].slice(at)),
    ],
    [
      "a normalization at each position",
      "String.normalize",
      (text) => positions(text).map((at) => text.slice(at).normalize()),
    ],
  ])("detects steps that grow with the square of the text: %s", (_what, pass, run) => {
    expect(growthOf(run)).toContainEqual(expect.stringContaining(pass));
  });

  it("counts the same steps in every run", () => {
    const run = () =>
      positions("ab".repeat(500)).map((at) => "ab".repeat(500).indexOf("b", at) + at);
    const [first, second] = [counter.count(run), counter.count(run)];
    expect(second).toEqual(first);
  });
});
