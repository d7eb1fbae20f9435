/** The values of a form: what fits the fields of a question, and what is said of the rest. */
import { describe, expect, it } from "@jest/globals";
import { checkFieldValues, describeFieldProblem } from "@sekisho/contracts/field-values.ts";
import type { FieldValues, QuestionField } from "@sekisho/contracts/question-fields.ts";

const options = [
  { id: "eu", label: "Europe" },
  { id: "ap", label: "Asia" },
];
const fields: QuestionField[] = [
  { id: "region", label: "Region", type: "choice", required: true, options },
  { id: "others", label: "Others", type: "choices", options },
  { id: "why", label: "Why", type: "text", max_length: 5 },
  { id: "count", label: "How many", type: "number", min: 0, max: 10 },
  { id: "day", label: "Day", type: "date" },
];

function problemsOf(values: FieldValues): string[] {
  const checkResult = checkFieldValues({ fields, values: { region: "eu", ...values } });
  if ("values" in checkResult) return [];
  return checkResult.problems.map(({ id, problem }) => `${id} ${describeFieldProblem(problem)}`);
}

describe("values that fit", () => {
  it("returns the values in the order of the fields", () => {
    const values = { day: "2028-02-29", count: 0, why: "x", others: ["ap", "eu"], region: "ap" };
    const checkResult = checkFieldValues({ fields, values });
    expect(checkResult).toEqual({ values });
    expect(Object.keys("values" in checkResult ? checkResult.values : {})).toEqual(
      fields.map(({ id }) => id),
    );
  });

  it.each([0, 10])("accepts the limit %d of a number field", (count) => {
    expect(problemsOf({ count })).toEqual([]);
  });

  it("counts characters instead of UTF-16 units", () => {
    expect(problemsOf({ why: "🏯".repeat(5) })).toEqual([]);
    expect(problemsOf({ why: "🏯".repeat(6) })).toEqual(["why has more than 5 characters"]);
  });

  it("omits absent values: null, a blank text and an empty list", () => {
    const absent = { others: [], why: " ", count: null, day: "" };
    expect(checkFieldValues({ fields, values: { region: "eu", ...absent } })).toEqual({
      values: { region: "eu" },
    });
  });
});

describe("a value that does not fit", () => {
  it.each<[values: FieldValues, problem: string]>([
    [{ region: "" }, "region is required"],
    [{ region: "us" }, "region was not offered"],
    [{ region: ["eu"] }, "region was not offered"],
    [{ region: "constructor" }, "region was not offered"],
    [{ others: "eu" }, "others was not offered"],
    [{ others: ["eu", "us"] }, "others was not offered"],
    [{ others: ["eu", "eu"] }, "others was not offered"],
    [{ why: 1 }, "why must be a text"],
    [{ why: "123456" }, "why has more than 5 characters"],
    [{ count: "1" }, "count must be a number"],
    [{ count: Number.POSITIVE_INFINITY }, "count must be a number"],
    [{ count: -0.1 }, "count must be at least 0"],
    [{ count: 10.1 }, "count must be at most 10"],
    [{ day: "2026-02-29" }, "day must be a date such as 2026-03-31"],
    [{ day: "31.03.2026" }, "day must be a date such as 2026-03-31"],
    [{ day: 20260331 }, "day must be a date such as 2026-03-31"],
    [{ toString: "x" }, "toString is not a field of the question"],
  ])("refuses the values %j: %s", (values, problem) => {
    expect(problemsOf(values)).toEqual([problem]);
  });

  it("reports all invalid values together", () => {
    expect(problemsOf({ region: null, count: "x", unknown: 1 })).toEqual([
      "unknown is not a field of the question",
      "region is required",
      "count must be a number",
    ]);
  });
});
