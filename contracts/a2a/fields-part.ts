/**
 * The data part that carries the fields of a question, or the values that answer it (docs/reference/a2a.md). Both are a JSON object with the member
 * `fields`: a list in the question, an object in the answer.
 */
import { type FieldValues, type QuestionField, questionFieldsSchema } from "../question-fields.ts";
import type { Part } from "./part.ts";

export function createFieldsPart(fields: readonly QuestionField[] | FieldValues): Part {
  return { data: { fields }, mediaType: "application/json" };
}

/** The fields of the first data part that has valid ones. A question whose fields are broken can still be answered with text. */
export function readQuestionFields(parts: readonly Part[]): QuestionField[] | undefined {
  for (const fields of listFields(parts)) {
    const { data } = questionFieldsSchema.safeParse(fields);
    if (data !== undefined) return data;
  }
  return undefined;
}

/** The values of the first data part that has any, unchecked. */
export function readFieldValues(parts: readonly Part[]): unknown {
  return listFields(parts)[0];
}

function listFields(parts: readonly Part[]): unknown[] {
  return parts
    .map(({ data }) => (Object(data) as { fields?: unknown }).fields)
    .filter((fields) => fields !== undefined);
}
