/** Compares counts that are the same on every machine with `test/budgets.json`. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "@jest/globals";
import { listDifferences } from "./compare.ts";
import { measureFigures } from "./measured.ts";

it("keeps the budgets: renew them with `npm run budgets`, and say in the commit why one is higher", async () => {
  const { bundles: _bundles, ...budgets } = JSON.parse(
    readFileSync(join(__dirname, "../budgets.json"), "utf8"),
  );
  expect(listDifferences(budgets, await measureFigures())).toEqual([]);
});

it.each([
  [
    "reports a count 4 % above its budget",
    { calls: 100 },
    { calls: 104 },
    ["calls: 104, where 100 is the budget"],
  ],
  ["accepts an allocation 9 % above its budget", { kilobytes: 100 }, { kilobytes: 109 }, []],
  [
    "reports an allocation 11 % above its budget",
    { kilobytes: 100 },
    { kilobytes: 111 },
    ["kilobytes: 111, where 100 is the budget"],
  ],
  [
    "reports one call more among few",
    { a: { "slack.post": 2 } },
    { a: { "slack.post": 3 } },
    ["a/slack.post: 3, where 2 is the budget"],
  ],
  [
    "reports a count far below its budget",
    { calls: 100 },
    { calls: 80 },
    ["calls: 80 is less than the budget of 100: lower it"],
  ],
  [
    "reports a kind of call without a budget",
    {},
    { "slack.post": 1 },
    ["slack.post has no budget"],
  ],
  ["reports a kind of call that is gone", { "slack.post": 1 }, {}, ["slack.post was not measured"]],
])("%s", (_what, budgets, measured, expected) => {
  expect(listDifferences(budgets, measured)).toEqual(expected);
});
