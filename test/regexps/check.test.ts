/** The search for regular expressions that a text can hold for a long time. */
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "@jest/globals";
import type { Allowed } from "./check.ts";

const example = "lambdas/example.ts";
const made = "test/regexps/children/slow-expression.ts";

async function check(
  text: string,
  { file = example, allowed = [] }: { file?: string; allowed?: Allowed[] } = {},
) {
  const request = JSON.stringify({ sources: [{ file, text }], allowed });
  const child = join(import.meta.dirname, "children/check-case.ts");
  const { stdout } = await promisify(execFile)(process.execPath, [child, request]);
  return JSON.parse(stdout) as { problems: string[]; count: number };
}

it("names the file and line of an expression that takes exponential or polynomial time", async () => {
  const { problems, count } = await check(
    "const a = /^a+$/;\nconst b = /^(a+)+$/;\nconst c = /\\s*,/;",
  );
  expect(count).toBe(3);
  expect(problems).toEqual([
    expect.stringMatching(/^lambdas\/example\.ts:2 .*exponential/),
    expect.stringMatching(/^lambdas\/example\.ts:3 .*polynomial/),
  ]);
});

it("accepts a slow expression whose input is bounded, and refuses an unused exception", async () => {
  const exception = { file: example, pattern: "\\s*,", bound: "A name of at most 80 characters." };
  expect((await check("const c = /\\s*,/;", { allowed: [exception] })).problems).toEqual([]);
  expect((await check("const c = /,/;", { allowed: [exception] })).problems).toEqual([
    expect.stringContaining("has no \\s*,"),
  ]);
});

it("refuses an expression that is created in a function, because its source is not known", async () => {
  const { problems } = await check("export const f = (a: string) => new RegExp(a);");
  expect(problems).toEqual([expect.stringContaining("made in a function")]);
});

it("checks an expression that a module builds from parts while it loads", async () => {
  const { problems } = await check(readFileSync(join(import.meta.dirname, "../..", made), "utf8"), {
    file: made,
  });
  expect(problems).toEqual([expect.stringMatching(/slow-expression\.ts:\d+ .*exponential/)]);
});
