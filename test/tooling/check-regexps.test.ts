/** The search for regular expressions that a text can hold for a long time. */
import { expect, it } from "@jest/globals";
import { checkRegexps } from "./check-regexps.ts";

const file = "lambdas/example.ts";

function check(text: string, allowed: { file: string; pattern: string; bound: string }[] = []) {
  return checkRegexps({ sources: [{ file, text }], allowed });
}

it("names the file and line of an expression that takes exponential or polynomial time", async () => {
  const { problems, count } = await check("const a = /^a+$/;\nconst b = /^(a+)+$/;\nconst c = /\\s*,/;");
  expect(count).toBe(3);
  expect(problems).toEqual([
    expect.stringMatching(/^lambdas\/example\.ts:2 .*exponential/),
    expect.stringMatching(/^lambdas\/example\.ts:3 .*polynomial/),
  ]);
});

it("accepts a slow expression whose input is bounded, and refuses an exception that nothing uses", async () => {
  const exception = { file, pattern: "\\s*,", bound: "A name of at most 80 characters." };
  expect((await check("const c = /\\s*,/;", [exception])).problems).toEqual([]);
  expect((await check("const c = /,/;", [exception])).problems).toEqual([expect.stringContaining("has no \\s*,")]);
});

it("refuses an expression that is made in a function, because its source is not known", async () => {
  const { problems } = await check("export const f = (a: string) => new RegExp(`(${a}+)+$`);");
  expect(problems).toEqual([expect.stringContaining("made in a function")]);
});

it("checks an expression that a module makes of parts while it loads", async () => {
  const { problems } = await checkRegexps({
    sources: [
      {
        file: "test/tooling/children/slow-expression.ts",
        text: 'const part = "a+";\nexport const slow = new RegExp(`^(${part})+$`);\n',
      },
    ],
    allowed: [],
  });
  expect(problems).toEqual([expect.stringMatching(/slow-expression\.ts:2 .*exponential/)]);
});
