/**
 * The bot's modals as Slack sends them back (https://docs.slack.dev/surfaces/modals): which one it is, what was filled in, and what is wrong
 * with it. `modal.ts` builds them. The ingress loads this file, so it loads no schemas.
 */
import { checkFieldValues, type FieldProblem } from "@sekisho/contracts/field-values.ts";
import type { FieldValue, FieldValues, QuestionField } from "@sekisho/contracts/question-fields.ts";
import { parseJson } from "@sekisho/runtime/untrusted-input.ts";
import type { Locale } from "../../task/task.ts";

/** The `callback_id` of the modal with a question's fields. */
export const questionModal = "sekisho_question";

/** The `block_id` and the `action_id` of the instruction, which may be empty. */
export const instructionBlock = "instruction";
/** The `action_id` of every input. */
export const inputAction = "input";

/** `private_metadata` of the modal with a question's fields. `question` counts from 0. */
export type QuestionModal = { requestId: string; question: number; locale: Locale };
/** `private_metadata` of the shortcut's modal: the message that it is about. `external` is that of a `UserMessage`. */
export type AskAboutModal = {
  channel: string;
  ts: string;
  threadTs?: string;
  /** When the shortcut was chosen, by Slack's clock. */
  actionTs: string;
  external?: "channels" | "people";
  locale: Locale;
};

/** The fields of a view that we read. Slack sends the view as it was opened. */
export type SubmittedView = {
  private_metadata: string;
  blocks: readonly unknown[];
  values: Readonly<Record<string, unknown>>;
};

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

export function readQuestionModal({ private_metadata }: SubmittedView): QuestionModal | undefined {
  const { requestId, question, locale } = Object(
    parseJson(private_metadata),
  ) as Partial<QuestionModal>;
  const isOurs =
    typeof requestId === "string" && uuid.test(requestId) && Number.isSafeInteger(question);
  return isOurs ? { requestId, question: Number(question), locale: toLocale(locale) } : undefined;
}

const slackId = /^[A-Z0-9]{1,64}$/;
const slackTs = /^(?=.{3,32}$)\d+\.\d+$/;

export function readAskAboutModal({ private_metadata }: SubmittedView): AskAboutModal | undefined {
  const fields = Object(parseJson(private_metadata)) as Partial<
    Record<keyof AskAboutModal, unknown>
  >;
  const { channel, ts, threadTs, actionTs, external, locale } = fields;
  if (
    typeof channel !== "string" ||
    !slackId.test(channel) ||
    !isSlackTs(ts) ||
    !isSlackTs(actionTs)
  )
    return undefined;
  return {
    channel,
    ts,
    actionTs,
    ...(isSlackTs(threadTs) ? { threadTs } : {}),
    ...(external === "channels" || external === "people" ? { external } : {}),
    locale: toLocale(locale),
  };
}

function isSlackTs(value: unknown): value is string {
  return typeof value === "string" && slackTs.test(value);
}

function toLocale(locale: unknown): Locale {
  return locale === "ja" ? "ja" : "en";
}

export function readInstruction({ values }: SubmittedView): string {
  const { value } = Object(Object(values[instructionBlock])[inputAction]) as { value?: unknown };
  return typeof value === "string" ? value : "";
}

/**
 * The values of a question's fields, by the `block_id`s of their inputs, or one sentence for each input that is filled in wrongly. A choice
 * is the number of its option as a text.
 */
export function readFieldInputs(
  view: SubmittedView,
  locale: Locale,
): { values: FieldValues } | { errors: Record<string, string> } {
  const fields = view.blocks.flatMap((block) => toField(block) ?? []);
  const fieldEntries = fields.flatMap(({ id }): [string, FieldValue][] => {
    const value = toValue(Object(view.values[id])[inputAction]);
    return value === undefined ? [] : [[id, value]];
  });
  const checkResult = checkFieldValues({ fields, values: Object.fromEntries(fieldEntries) });
  if ("values" in checkResult) return checkResult;
  const errors = checkResult.problems.map(({ id, problem }): [string, string] => [
    id,
    problemText(problem, locale),
  ]);
  return { errors: Object.fromEntries(errors) };
}

type Input = {
  type?: unknown;
  options?: unknown;
  min_value?: unknown;
  max_value?: unknown;
  max_length?: unknown;
};

/** The input as the field that it was made of. Undefined for another block. */
function toField(block: unknown): QuestionField | undefined {
  const { type, block_id: id, optional, element } = Object(block) as Record<string, unknown>;
  if (type !== "input" || typeof id !== "string") return undefined;
  const input = Object(element) as Input;
  const common = { id, label: id, required: optional !== true };
  switch (input.type) {
    case "static_select":
      return { ...common, type: "choice", options: toOptions(input) };
    case "multi_static_select":
      return { ...common, type: "choices", options: toOptions(input) };
    case "number_input":
      // Beyond that the number would be another one than was typed. Limits of the agent's own take precedence.
      return {
        ...common,
        type: "number",
        min: Number.MIN_SAFE_INTEGER,
        max: Number.MAX_SAFE_INTEGER,
        ...numbers({ min: input.min_value, max: input.max_value }),
      };
    case "datepicker":
      return { ...common, type: "date" };
    case "plain_text_input":
      return { ...common, type: "text", ...numbers({ max_length: input.max_length }) };
    default:
      return undefined;
  }
}

function toOptions({ options }: Input): { id: string; label: string }[] {
  const list: unknown[] = Array.isArray(options) ? options : [];
  return list.map((option) => ({ id: toText(Object(option).value) ?? "", label: "" }));
}

/** Slack sends limits of numbers as texts. Anything else is no limit, because converting it may throw. */
function numbers<N extends string>(limits: Record<N, unknown>): { [K in N]?: number } {
  const knownLimits = Object.entries(limits).filter(
    ([, limit]) => typeof limit === "string" || typeof limit === "number",
  );
  return Object.fromEntries(knownLimits.map(([name, limit]) => [name, Number(limit)])) as {
    [K in N]?: number;
  };
}

/** The state of one input (https://docs.slack.dev/reference/interaction-payloads/view-interactions-payload). */
function toValue(state: unknown): FieldValue | undefined {
  const { type, value, selected_option, selected_options, selected_date } = Object(state) as Record<
    string,
    unknown
  >;
  switch (type) {
    case "static_select":
      return toText(Object(selected_option).value);
    case "multi_static_select":
      return Array.isArray(selected_options)
        ? selected_options.map((each) => toText(Object(each).value) ?? "")
        : undefined;
    case "datepicker":
      return toText(selected_date);
    case "number_input": {
      const text = toText(value)?.trim() ?? "";
      // A text that is no number stays one, so that the check says so.
      return text === "" ? undefined : Number.isFinite(Number(text)) ? Number(text) : text;
    }
    default:
      return toText(value);
  }
}

function toText(value: unknown): string | undefined {
  return typeof value === "string" ? value.toWellFormed() : undefined;
}

function problemText(problem: FieldProblem["problem"], locale: Locale): string {
  switch (problem.type) {
    case "required":
      return { en: "Please fill this in.", ja: "入力してください。" }[locale];
    case "unknown":
    case "not_a_choice":
      return { en: "Please choose from the list.", ja: "一覧から選択してください。" }[locale];
    case "not_text":
      return { en: "Please enter some text.", ja: "テキストを入力してください。" }[locale];
    case "not_a_number":
      return { en: "Please enter a number.", ja: "数値を入力してください。" }[locale];
    case "not_a_date":
      return { en: "Please choose a date.", ja: "日付を選択してください。" }[locale];
    case "too_long":
      return {
        en: `This is too long. Use at most ${problem.max === 1 ? "1 character" : `${problem.max} characters`}.`,
        ja: `長すぎます。${problem.max}文字以内で入力してください。`,
      }[locale];
    case "too_small":
      return {
        en: `This must be ${problem.min} or more.`,
        ja: `${problem.min}以上の値を入力してください。`,
      }[locale];
    case "too_large":
      return {
        en: `This must be ${problem.max} or less.`,
        ja: `${problem.max}以下の値を入力してください。`,
      }[locale];
  }
}
