/** Checks the values of a form against the fields of a question. Loads no schemas, because the ingress must start fast. */
import { hasMoreCharacters, maxFieldTextLength } from "./limits.ts";
import type { FieldValue, FieldValues, QuestionField } from "./question-fields.ts";

/** Why a value does not fit. The fields are named by their ids. */
export type FieldProblem = {
  id: string;
  problem:
    | { type: "unknown" | "required" | "not_text" | "not_a_choice" | "not_a_number" | "not_a_date" }
    | { type: "too_long"; max: number }
    | { type: "too_small"; min: number }
    | { type: "too_large"; max: number };
};

/** Returns the values that are given, in the order of the fields, or what is wrong. `null`, blank texts and empty lists count as absent. */
export function checkFieldValues(request: {
  fields: readonly QuestionField[];
  values: FieldValues;
}): { values: FieldValues } | { problems: FieldProblem[] } {
  const { fields } = request;
  const presentValues = new Map(
    Object.entries(request.values).filter(([, value]) => !isAbsent(value)),
  );
  const fieldIds = new Set(fields.map(({ id }) => id));
  const unknown = Object.keys(request.values).filter((id) => !fieldIds.has(id));
  const problems: FieldProblem[] = unknown.map((id) => ({ id, problem: { type: "unknown" } }));
  for (const field of fields) {
    const problem = findProblem(field, presentValues.get(field.id));
    if (problem !== undefined) problems.push({ id: field.id, problem });
  }
  if (problems.length > 0) return { problems };
  const orderedValues = fields.flatMap(({ id }): [string, FieldValue][] => {
    const value = presentValues.get(id);
    return value === undefined ? [] : [[id, value]];
  });
  return { values: Object.fromEntries(orderedValues) };
}

function isAbsent(value: FieldValue): boolean {
  if (typeof value === "string") return value.trim() === "";
  return value === null || (Array.isArray(value) && value.length === 0);
}

function findProblem(
  field: QuestionField,
  value: FieldValue | undefined,
): FieldProblem["problem"] | undefined {
  if (value === undefined) return field.required ? { type: "required" } : undefined;
  switch (field.type) {
    case "choice":
      return hasOption(field, value) ? undefined : { type: "not_a_choice" };
    case "choices": {
      const isFitting = Array.isArray(value) && value.every((each) => hasOption(field, each));
      return isFitting && new Set(value).size === value.length
        ? undefined
        : { type: "not_a_choice" };
    }
    case "text": {
      if (typeof value !== "string") return { type: "not_text" };
      const { max_length: max = maxFieldTextLength } = field;
      return hasMoreCharacters(value, max) ? { type: "too_long", max } : undefined;
    }
    case "number":
      if (typeof value !== "number" || !Number.isFinite(value)) return { type: "not_a_number" };
      if (field.min !== undefined && value < field.min)
        return { type: "too_small", min: field.min };
      return field.max !== undefined && value > field.max
        ? { type: "too_large", max: field.max }
        : undefined;
    case "date":
      return typeof value === "string" && isDate(value) ? undefined : { type: "not_a_date" };
  }
}

function hasOption(
  { options }: Extract<QuestionField, { type: "choice" | "choices" }>,
  value: unknown,
): boolean {
  return options.some(({ id }) => id === value);
}

/** True for a day that exists. `2026-02-30` does not. */
function isDate(text: string): boolean {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return false;
  const date = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text);
}

/** For developers, in English. Never holds a value. */
export function describeFieldProblem(problem: FieldProblem["problem"]): string {
  switch (problem.type) {
    case "unknown":
      return "is not a field of the question";
    case "required":
      return "is required";
    case "not_text":
      return "must be a text";
    case "not_a_choice":
      return "was not offered";
    case "not_a_number":
      return "must be a number";
    case "not_a_date":
      return "must be a date such as 2026-03-31";
    case "too_long":
      return `has more than ${problem.max} characters`;
    case "too_small":
      return `must be at least ${problem.min}`;
    case "too_large":
      return `must be at most ${problem.max}`;
  }
}
