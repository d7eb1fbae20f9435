/**
 * Approvals and questions in the structure of kagent's extension "human in the loop": what a person is asked, and the reply. The reply must
 * have the ids of the open request, so its status message is read again before the reply is sent. The ids of our options and fields name
 * the request, so that no decision goes to another one.
 * (https://github.com/kagent-dev/kagent/blob/main/docs/architecture/human-in-the-loop.md)
 */
import { hash } from "node:crypto";
import type { ReadCard } from "@sekisho/contracts/a2a/card.ts";
import { hitlKey } from "@sekisho/contracts/a2a/extension.ts";
import { joinTextParts } from "@sekisho/contracts/a2a/part.ts";
import type { ReadTask } from "@sekisho/contracts/a2a/read-task.ts";
import { fromA2aState } from "@sekisho/contracts/a2a/task.ts";
import { valueSchema } from "@sekisho/contracts/a2a/values.ts";
import { type ParamsOf, type QuestionOption, transitionError } from "@sekisho/contracts/methods.ts";
import {
  type FieldValue,
  type QuestionField,
  questionFieldsSchema,
} from "@sekisho/contracts/question-fields.ts";
import { quoteName } from "@sekisho/runtime/shown-json.ts";
import { dropUndefined, truncate } from "@sekisho/runtime/untrusted-input.ts";
import { isVisible } from "@sekisho/runtime/visible-text.ts";
import * as z from "zod";
import { describeCall, maxDescribed, readHint } from "./tool-text.ts";

type StatusMessage = ReadTask["status"]["message"];
type Answer = ParamsOf<"answer_task">;

/** True if the agent's card names the extension. */
export function hasHitl({ capabilities }: ReadCard): boolean {
  return capabilities.extensions?.some(({ uri }) => uri === hitlKey) ?? false;
}

const id = z.string().min(1);
const text = z.string().optional().catch(undefined);
const tools = z
  .array(z.object({ id, name: id, args: valueSchema.optional() }))
  .min(1)
  .max(1000)
  .refine((list) => new Set(list.map((tool) => tool.id)).size === list.length, "two have one id");
/** The request of a subagent, on behalf of which the agent asks. */
const nested = z.object({ subagent_name: text, tools }).nullish();
const choices = z.array(z.string()).catch([]);
const multiple = z.boolean().catch(false);
const questions = z
  .array(z.object({ question: z.string().catch(""), choices, multiple }))
  .min(1)
  .max(1000);

const requestSchema = z.discriminatedUnion("type", [
  z.object({ type: z.literal("tool_approval_request"), hint: text, tools, nested }),
  z.object({ type: z.literal("ask_user_request"), id, questions, nested }),
]);
type Request = z.output<typeof requestSchema>;
type ToolApproval = Extract<Request, { type: "tool_approval_request" }>;
type AskUser = Extract<Request, { type: "ask_user_request" }>;
type Question = AskUser["questions"][number];

/** Undefined unless the message names the extension too, as it must. */
function readRequest(message: StatusMessage): Request | undefined {
  if (!message?.extensions?.includes(hitlKey)) return undefined;
  return requestSchema.safeParse(message.metadata?.[hitlKey]).data;
}

/** The tools that the person decides on. */
function listTools(request: ToolApproval) {
  return request.nested?.tools ?? request.tools;
}

/** The id that the answers must name. */
function readAnswerId({ id: requestId, nested: subagent }: AskUser): string {
  if (!subagent) return requestId;
  return (
    (subagent.tools.find(({ name }) => name === "ask_user") ?? subagent.tools[0])?.id ?? requestId
  );
}

/** The ids of our options and fields begin with this. The arguments count too, because other ones need another decision. */
function createPrefix(request: Request): string {
  return `hitl-${hash("sha256", JSON.stringify(request)).slice(0, 16)}-`;
}

/** True if the ids of the answer are those of such a question. */
export function isHitlAnswer({ option_id = "", fields = {} }: Answer): boolean {
  return [option_id, ...Object.keys(fields)].some((name) => /^hitl-[0-9a-f]{16}-/.test(name));
}

const maxQuestionIdLength = 128;

/** Makes the question's id from the status message. The history does not count, because it may hold an earlier question. */
export function createQuestionId(messageId: string | undefined): string | undefined {
  const isTooLong = messageId !== undefined && messageId.length > maxQuestionIdLength;
  return isTooLong ? hash("sha256", messageId) : messageId;
}

type HitlQuestion = { prompt: string; options?: QuestionOption[]; fields?: QuestionField[] };

/** The text for the person, or undefined if the message asks in another way. */
export function readHitlQuestion(message: StatusMessage): HitlQuestion | undefined {
  const request = readRequest(message);
  if (request === undefined || message === undefined) return undefined;
  const words = joinTextParts(message.parts);
  const question =
    request.type === "tool_approval_request"
      ? askForApproval(request, words)
      : askQuestions(request, words);
  const { subagent_name: name } = request.nested ?? {};
  const lines = [name && `The agent ${quoteName(name)} asks:`, ...question.lines];
  const { options, fields } = question;
  return { prompt: lines.filter(Boolean).join("\n\n"), ...dropUndefined({ options, fields }) };
}

type AskedQuestion = {
  lines: (string | undefined)[];
  options?: QuestionOption[] | undefined;
  fields?: QuestionField[] | undefined;
};

/** One decision for each tool, whose arguments the prompt shows. */
function askForApproval(request: ToolApproval, words: string): AskedQuestion {
  const list = listTools(request);
  const prefix = createPrefix(request);
  const decisions = [
    { id: "approve", label: "Approve", style: "primary" },
    { id: "deny", label: "Deny", style: "danger" },
  ];
  const fields = readFields(
    list.map(({ name }, index) => ({
      ...{ id: `${prefix}${index}`, label: toLabel(name, index), required: true, type: "choice" },
      options: decisions.map((decision) => ({ id: decision.id, label: decision.label })),
    })),
  );
  const lines = [
    ...new Set([words, request.hint].map(readHint)),
    list.length > 1 ? listNames(list) : undefined,
    ...list.slice(0, maxDescribed).map(({ name, args }) => describeCall({ name, args })),
  ];
  if (list.length > 1 && fields !== undefined) return { lines, fields };
  return { lines, options: decisions.map((one) => ({ ...one, id: `${prefix}${one.id}` })) };
}

/** The names come before the arguments, which may be longer than what is shown. */
function listNames(list: ToolApproval["tools"]): string {
  const names = list.slice(0, maxDescribed).map(({ name }) => quoteName(name));
  const hiddenCount = list.length - names.length;
  return `These tools wait for you: ${names.join(", ")}${hiddenCount > 0 ? `, and ${hiddenCount} more that are not shown` : ""}.`;
}

/** As many choices have buttons. More are in a list. */
const maxButtons = 20;

function askQuestions(request: AskUser, words: string): AskedQuestion {
  const prefix = createPrefix(request);
  const [first, ...others] = request.questions;
  const isSingle = first !== undefined && others.length === 0;
  if (isSingle && !first.multiple && first.choices.length <= maxButtons) {
    const options = toOptions(first).map((one) => ({ ...one, id: `${prefix}${one.id}` }));
    const lines = [first.question || words];
    return options.length === 0 ? { lines } : { lines, options };
  }
  const fields = readFields(
    request.questions.map((question, index) => {
      const options = toOptions(question);
      const label = toLabel(question.question, index);
      const common = { id: `${prefix}${index}`, label, required: !question.multiple };
      if (options.length === 0) return { ...common, type: "text", multiline: true };
      return { ...common, type: question.multiple ? "choices" : "choice", options };
    }),
  );
  const isWhole = request.questions.every(
    (question, index) => toLabel(question.question, index) === question.question,
  );
  if (fields !== undefined && isWhole)
    return { lines: [readHint(words) || "The agent asks:"], fields };
  return { lines: [request.questions.map(describeQuestion).join("\n")], fields };
}

function describeQuestion({ question, choices: offered }: Question, index: number): string {
  const list = offered.length === 0 ? "" : ` (${offered.slice(0, maxDescribed).join(", ")})`;
  return `${index + 1}. ${question}${list}`;
}

/** Undefined for more fields than a form has. The person then answers in words. */
function readFields(fields: readonly unknown[]): QuestionField[] | undefined {
  return questionFieldsSchema.safeParse(fields).data;
}

const maxLabelLength = 200;

function toOptions({ choices: offered }: Question): { id: string; label: string }[] {
  return offered.map((choice, index) => ({ id: `${index}`, label: toLabel(choice, index) }));
}

function toLabel(words: string, index: number): string {
  return isVisible(words) ? truncate(words, maxLabelLength) : `${index + 1}`;
}

/** `text` says the same to people who read the history. */
type HitlResponse = { payload: Record<string, unknown>; text: string };

/**
 * The reply to the request that the task has open, or undefined if it asks in another way. Throws `invalid_state` if the task no longer
 * asks what was answered.
 */
export function createHitlResponse(options: {
  task: ReadTask;
  params: Answer;
}): HitlResponse | undefined {
  const { task, params } = options;
  const { state } = fromA2aState(task.status.state);
  const { message } = task.status;
  const request = state === "input_required" ? readRequest(message) : undefined;
  if (request === undefined && !isHitlAnswer(params)) return undefined;
  const isOther =
    params.question_id !== undefined &&
    message?.messageId !== undefined &&
    params.question_id !== createQuestionId(message.messageId);
  const isInWords = params.option_id === undefined && params.fields === undefined;
  const response =
    request === undefined || (isInWords && isOther) ? undefined : respondTo(request, params);
  if (response === undefined)
    throw transitionError({ taskId: task.id, from: state, to: "working" });
  return response;
}

function respondTo(request: Request, answer: Answer): HitlResponse | undefined {
  return request.type === "tool_approval_request"
    ? decide(request, answer)
    : answerQuestions(request, answer);
}

/** A reply in words is a denial with its reason, unless it is the word on the button. */
function decide(request: ToolApproval, answer: Answer): HitlResponse | undefined {
  const { option_id, text: words = "", fields } = answer;
  const prefix = createPrefix(request);
  const list = listTools(request);
  const word = words.trim().toLowerCase();
  const wordDecision = word === "approve" ? "approve" : "deny";
  const decisions = list.map((_, index) => {
    if (fields !== undefined) return fields[`${prefix}${index}`];
    if (option_id === undefined) return wordDecision;
    // The id of another question's choice may be the same word.
    return option_id.startsWith(prefix) ? option_id.slice(prefix.length) : undefined;
  });
  if (!decisions.every((decision) => decision === "approve" || decision === "deny"))
    return undefined;
  const hasReason =
    option_id === undefined && fields === undefined && word !== "deny" && word !== "";
  const approvals = list.map(({ id: toolId }, index) => {
    const approved = decisions[index] === "approve";
    return { id: toolId, approved, ...(!approved && hasReason && { rejection_reason: words }) };
  });
  const lines = approvals.map(
    ({ approved }, index) => `${approved ? "Approved" : "Denied"}: ${list[index]?.name}`,
  );
  return { payload: { type: "tool_approval_response", approvals }, text: lines.join("\n") };
}

/** A reply in words answers every question. */
function answerQuestions(request: AskUser, answer: Answer): HitlResponse | undefined {
  const { option_id, text: words = "", fields } = answer;
  const prefix = createPrefix(request);
  const names = fields === undefined ? [option_id ?? prefix] : Object.keys(fields);
  // The ids name the request, so others are for another one.
  if (!names.every((name) => name.startsWith(prefix))) return undefined;
  const answers = request.questions.map((question, index) => {
    if (fields !== undefined) return readValue(question, fields[`${prefix}${index}`]);
    return option_id === undefined ? [words] : readValue(question, option_id.slice(prefix.length));
  });
  if (!answers.every((one) => one !== undefined)) return undefined;
  const payload = {
    ...{ type: "ask_user_response", id: readAnswerId(request) },
    answers: answers.map((one) => ({ answer: one })),
  };
  return { payload, text: answers.map((one) => one.join(", ")).join("\n") };
}

/** The texts of an answer. Undefined for a choice that was not offered. */
function readValue(question: Question, value: FieldValue | undefined): string[] | undefined {
  if (value === undefined || value === null || value === "") return [];
  if (question.choices.length === 0) return [String(value)];
  const chosen = [value].flat().map((index) => question.choices[Number(index)]);
  return chosen.every((choice) => choice !== undefined) ? chosen : undefined;
}
