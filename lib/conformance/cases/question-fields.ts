/** Cases of questions with fields, which an agent may ask or not. */
import { randomUUID } from "node:crypto";
import type { FieldValue, QuestionField } from "@sekisho/contracts/question-fields.ts";
import type { ConformanceCase } from "../case.ts";
import { Deviation, NotApplicable } from "../deviation.ts";
import {
  comparable,
  expectError,
  expectResult,
  readPeerError,
  readPeerResult,
  skipWithoutMethod,
} from "../expect.ts";
import type { PeerAnswer } from "../peer.ts";
import { type AskingTask, followTask, newSlackId } from "../tasks.ts";
import { readTask, reply, unofferedOption } from "./questions.ts";

const section = "`answer_task`";
/** The id of a field that no question has. */
const newFieldId = () => `x.${randomUUID().slice(0, 8)}`;

export const questionFieldCases: readonly ConformanceCase[] = [
  {
    name: "question/fields",
    level: "required",
    section: "`input_required`",
    needs: ["question/asks"],
    expects:
      "a text at which the agent asks with fields: fields as of the contract, and get_task shows the same",
    advice:
      "Give each field of a question another id, a label and a type, and show them at every read.",
    async check(run) {
      const task = await run.tasks.askingWithFields();
      const fields = fieldsOf(task);
      run.step("get_task");
      const { taskId, sessionId } = task;
      const answer = await run.peer.call({
        method: "get_task",
        params: { task_id: taskId },
        sessionId,
      });
      const again = expectResult(answer, "get_task");
      const isSame =
        again.status === "input_required" && comparable(again.fields) === comparable(fields);
      if (!isSame) throw new Deviation(answer.came);
      return answer.came;
    },
  },
  {
    name: "question/bad-fields",
    level: "required",
    section,
    needs: ["question/fields"],
    expects:
      "values that do not fit the fields of the question: invalid_params, error -32602, and the question stays open",
    advice:
      "Check each value against its field before the agent sees it: ids, what is required, choices, types and limits.",
    async check(run) {
      const task = await run.tasks.askingWithFields();
      const fields = fieldsOf(task);
      let came = task.last.came;
      for (const [what, values] of listBadValues(fields)) {
        run.step(what);
        const answer = await reply(run, task, { fields: values });
        skipWithoutMethod(answer, "answer_task");
        came = expectError(answer, ["invalid_params"]);
      }
      return came;
    },
  },
  {
    name: "question/names-field",
    level: "strict",
    section,
    needs: ["question/bad-fields"],
    expects:
      "a value for a field that the question does not have: the error's issues name the field",
    advice: "Put the path of the field into data.issues of invalid_params, such as fields.region.",
    async check(run) {
      const task = await run.tasks.askingWithFields();
      const id = newFieldId();
      const answer = await reply(run, task, {
        fields: { ...goodValues(fieldsOf(task)), [id]: "x" },
      });
      const { issues } = Object(readPeerError(answer)?.data) as { issues?: unknown };
      const paths = Array.isArray(issues) ? issues.map((issue) => String(Object(issue).path)) : [];
      if (!paths.some((path) => path.includes(id))) throw new Deviation(answer.came);
      return answer.came;
    },
  },
  {
    name: "question/answers-fields",
    level: "required",
    section,
    needs: ["question/bad-fields"],
    // That case needs the question open.
    after: ["question/names-field"],
    expects:
      "values that fit the fields, twice: a result as of get_task, and the same again; and the last choices, greatest numbers, longest texts and a leap day",
    advice:
      "Take every value that fits its field, as it is. The same values again get the same result.",
    async check(run) {
      const task = await run.tasks.askingWithFields();
      const values = { fields: goodValues(fieldsOf(task)) };
      const first = await reply(run, task, values);
      expectResult(first, "answer_task");
      run.step("once more");
      expectResult(await reply(run, task, values), "answer_task");
      run.step("get_task");
      const { last } = await followTask(run, { ...task, answer: await readTask(run, task) });
      const other = await run.tasks.askingForOtherValues();
      const otherValues = { fields: lastValues(fieldsOf(other)) };
      run.step("the last choices, greatest numbers, longest texts and a leap day");
      const answer = await reply(run, other, otherValues);
      expectResult(answer, "answer_task");
      const { last: end } = await followTask(run, { ...other, answer });
      if (namesAll(last, values.fields) && !namesAll(end, otherValues.fields))
        throw new Deviation(`${end.came}; other values were given`);
      return end.came;
    },
  },
  {
    name: "question/fields-in-words",
    level: "required",
    section,
    needs: ["question/fields"],
    // That case needs the question open.
    after: ["isolation/another-caller-answers"],
    expects: "an answer in words to a question with fields: a result as of get_task",
    advice:
      "Take text instead of fields. A client that does not know fields shows the prompt, and sends what the person writes.",
    async check(run) {
      const task = await run.tasks.askingWithFieldsAgain();
      const answer = await reply(run, task, {
        text: run.peer.mark("yes", task.sessionId),
        user_id: newSlackId("U"),
      });
      skipWithoutMethod(answer, "answer_task");
      expectResult(answer, "answer_task");
      return answer.came;
    },
  },
];

/** The params of `answer_task` for each way in which this question can be answered: in words, by an option and by fields. */
export function listReplies({
  taskId,
  question,
}: Pick<AskingTask, "taskId" | "question">): object[] {
  const { question_id, options: [option] = [], fields } = question;
  const key = { task_id: taskId, ...(question_id !== undefined && { question_id }) };
  return [
    { ...key, text: "yes" },
    ...(option === undefined ? [] : [{ ...key, option_id: option.id }]),
    ...(fields === undefined ? [] : [{ ...key, fields: goodValues(fields) }]),
  ];
}

/** Throws a NotApplicable where the agent asks without fields. */
function fieldsOf({ question, last }: AskingTask): QuestionField[] {
  if (question.fields !== undefined) return question.fields;
  throw new NotApplicable(`the question has no fields (--form-text): ${last.came}`);
}

function goodValues(fields: readonly QuestionField[]): Record<string, FieldValue> {
  return Object.fromEntries(fields.map((field) => [field.id, goodValue(field)]));
}

/** Other values than `goodValues` where there is a choice. */
function lastValues(fields: readonly QuestionField[]): Record<string, FieldValue> {
  return Object.fromEntries(fields.map((field) => [field.id, lastValue(field)]));
}

function lastValue(field: QuestionField): FieldValue {
  switch (field.type) {
    case "choice":
      return field.options.at(-1)?.id ?? "";
    case "choices":
      return field.options.slice(-1).map(({ id }) => id);
    case "text":
      return "関".repeat(field.max_length ?? 3000);
    case "number":
      return field.max ?? (field.min ?? 1) + 1;
    case "date":
      return "2028-02-29";
  }
}

/** True if the answer of the agent repeats every value. */
function namesAll(answer: PeerAnswer, values: Record<string, FieldValue>): boolean {
  const { response_text: text } = Object(readPeerResult(answer));
  return Object.values(values)
    .flat()
    .every((value) => String(text).includes(String(value)));
}

function goodValue(field: QuestionField): FieldValue {
  switch (field.type) {
    case "choice":
      return field.options[0]?.id ?? "";
    case "choices":
      return field.options.map(({ id }) => id);
    case "text":
      return "yes".slice(0, field.max_length);
    case "number":
      return field.min ?? field.max ?? 1;
    case "date":
      return "2026-03-31";
  }
}

/** One wrong value each, in an answer that fits otherwise. */
function listBadValues(
  fields: readonly QuestionField[],
): [what: string, values: Record<string, unknown>][] {
  const good = goodValues(fields);
  const wrong = fields.flatMap((field): [string, Record<string, unknown>][] => [
    ...(field.required
      ? [
          [`no value for "${field.id}"`, { ...good, [field.id]: null }] as [
            string,
            Record<string, unknown>,
          ],
        ]
      : []),
    ...badValues(field).map(([what, value]): [string, Record<string, unknown>] => [
      `${what} for "${field.id}"`,
      { ...good, [field.id]: value },
    ]),
  ]);
  return [["a field that there is not", { ...good, [newFieldId()]: "x" }], ...wrong];
}

function badValues(field: QuestionField): [what: string, value: unknown][] {
  switch (field.type) {
    case "choice":
      return [["a choice that was not offered", unofferedOption(field.options)]];
    case "choices":
      return [
        ["choices that were not offered", [unofferedOption(field.options)]],
        ["the same choice twice", Array(2).fill(field.options[0]?.id)],
      ];
    case "text":
      return [["a text that is too long", "x".repeat((field.max_length ?? 3000) + 1)]];
    case "number":
      return [
        ["a text", "many"],
        ...(field.min === undefined
          ? []
          : [["a number that is too small", field.min - 1] as [string, unknown]]),
        ...(field.max === undefined
          ? []
          : [["a number that is too large", field.max + 1] as [string, unknown]]),
      ];
    case "date":
      return [["a day that there is not", "2026-02-30"]];
  }
}
