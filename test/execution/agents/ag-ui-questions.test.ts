/** Questions of any shape: whatever an agent asks, the host takes the question, and the answer reaches the agent. */
import { expect, it } from "@jest/globals";
import type { FieldValue, QuestionField } from "@sekisho/contracts/question-fields.ts";
import type { Ask } from "@sekisho/execution/agents/ag-ui/form.ts";
import {
  addAnswer,
  createContinuation,
  createQuestion,
  isAnswered,
  readQuestionState,
} from "@sekisho/execution/agents/ag-ui/question.ts";
import { updateSchema } from "@sekisho/execution/runs/update-schema.ts";
import fc from "fast-check";

const text = fc.oneof(fc.string(), fc.string({ unit: "binary", maxLength: 300 }));
const scalarSchema = fc.oneof(
  fc.record(
    { type: fc.constant("string"), format: fc.constantFrom("date", "uri"), title: text },
    { requiredKeys: ["type"] },
  ),
  fc.record(
    { type: fc.constantFrom("number", "integer"), minimum: fc.double(), maximum: fc.double() },
    { requiredKeys: ["type"] },
  ),
  fc.record({ type: fc.constantFrom("boolean", "object", "array", "null") }),
  fc.record({ enum: fc.array(fc.jsonValue(), { maxLength: 120 }), description: text }),
  fc.record({
    oneOf: fc.array(fc.record({ const: fc.jsonValue(), title: text }), { maxLength: 30 }),
  }),
  fc.record({
    type: fc.constant("array"),
    items: fc.record({ enum: fc.array(text, { maxLength: 5 }) }),
  }),
  fc.jsonValue(),
);
const objectSchema = fc
  .dictionary(
    fc.oneof(text, fc.constantFrom("approved", "reason", "__proto__", "toString")),
    scalarSchema,
    { maxKeys: 25 },
  )
  .chain((properties) =>
    fc.record({
      type: fc.constant("object"),
      properties: fc.constant(properties),
      required: fc.oneof(fc.subarray(Object.keys(properties)), fc.jsonValue()),
    }),
  );
const ask: fc.Arbitrary<Ask> = fc.record(
  {
    kind: fc.constantFrom("interrupt", "legacy", "tool"),
    id: text,
    prompt: fc.oneof(text, fc.constant("x".repeat(3000))),
    schema: fc.oneof(scalarSchema, objectSchema),
  },
  { requiredKeys: ["kind", "id", "prompt"] },
);

function fillIn(field: QuestionField): [string, FieldValue] {
  if (field.type === "text") return [field.id, "a text"];
  if (field.type === "number") return [field.id, field.min ?? field.max ?? 1];
  if (field.type === "date") return [field.id, "2026-03-31"];
  const { id = null } = field.options[0] ?? {};
  return [field.id, field.type === "choices" && id !== null ? [id] : id];
}

it("asks what the host takes, in any schema", () => {
  fc.assert(
    fc.property(fc.array(ask, { minLength: 1, maxLength: 20 }), text, (asks, written) => {
      const question = createQuestion({ state: { agUi: 1, asks, answers: [] }, text: written });
      const { error } = updateSchema.safeParse(question);
      expect(error?.issues ?? []).toEqual([]);
    }),
    { numRuns: 300 },
  );
});

it("answers every interrupt, whether people use buttons, fields or texts", () => {
  fc.assert(
    fc.property(fc.array(ask, { minLength: 1, maxLength: 5 }), (asks) => {
      let state: Parameters<typeof addAnswer>[0]["state"] = { agUi: 1, asks, answers: [] };
      // Each text answers one question at most, and an object in JSON answers any that has no choices.
      for (let round = 0; round < asks.length && !isAnswered(state); round += 1) {
        const { options, fields, state: storedState } = createQuestion({ state, text: "" });
        const earlierState = readQuestionState(storedState);
        if (earlierState === undefined) throw new Error("no state");
        const isForm = fields !== undefined;
        const values = Object.fromEntries((fields ?? []).map(fillIn));
        const reply = isForm ? { fields: values } : { option_id: options?.[0]?.id };
        const answerCount = state.answers.length;
        state = addAnswer({ state: earlierState, answer: { prompt: "", text: "{}", ...reply } });
        expect(state.answers.length).toBeGreaterThan(answerCount);
      }
      const { resume = [], furtherMessages } = createContinuation(state, 0);
      expect(resume.length + furtherMessages.length).toBe(asks.length);
    }),
    { numRuns: 300 },
  );
});
