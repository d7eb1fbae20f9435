/**
 * Builds the bot's modals (https://docs.slack.dev/reference/views/modal-views): one with a question's fields, and that of the message
 * shortcut. `modal-values.ts` reads them when they come back.
 */
import type { FieldValue, FieldValues, QuestionField } from "@sekisho/contracts/question-fields.ts";
import { isVisible } from "@sekisho/runtime/visible-text.ts";
import type { AgentQuestion, Locale, Task } from "../../task/task.ts";
import { askAboutShortcut } from "../api/manifest.ts";
import type { ModalView, SlackBlock } from "../api/slack.ts";
import { section, shorten } from "./blocks.ts";
import {
  type AskAboutModal,
  inputAction,
  instructionBlock,
  type QuestionModal,
  questionModal,
} from "./modal-values.ts";

/** Slack's limits (https://docs.slack.dev/reference/block-kit/block-elements, https://docs.slack.dev/reference/views). */
const maxTitleLength = 24;
const maxLabelLength = 2000;
const maxOptionLength = 75;
const maxInputLength = 3000;

type LocalizedText = Record<Locale, string>;

/** `prompt` is mrkdwn. Returns undefined for a question without fields. */
export function buildQuestionModal(request: {
  task: Task;
  question: AgentQuestion;
  prompt: string;
  locale: Locale;
}): ModalView | undefined {
  const { task, question, prompt, locale } = request;
  if (question.fields === undefined) return undefined;
  return {
    ...createQuestionFrame({ task, question, locale, title: questionTitle, submit: submitText }),
    blocks: [section(prompt), ...question.fields.map(toInput)],
  };
}

/** A modal whose submission answers the question. */
export function createQuestionFrame(request: {
  task: Task;
  question: AgentQuestion;
  locale: Locale;
  title: LocalizedText;
  submit: LocalizedText;
}) {
  const { task, question, locale, title, submit } = request;
  const metadata: QuestionModal = { requestId: task.id, question: question.index, locale };
  return {
    ...createFrame({ title: title[locale], locale }),
    submit: plainText(submit[locale], maxTitleLength),
    callback_id: questionModal,
    private_metadata: JSON.stringify(metadata),
  };
}

export function buildAskAboutModal(modal: AskAboutModal): ModalView {
  const { locale } = modal;
  return {
    ...createFrame({ title: askAboutTitle[locale], locale }),
    submit: plainText(submitText[locale], maxTitleLength),
    callback_id: askAboutShortcut,
    private_metadata: JSON.stringify(modal),
    blocks: [
      {
        type: "input",
        block_id: instructionBlock,
        optional: true,
        label: plainText(instructionLabel[locale], maxLabelLength),
        hint: plainText(instructionHint[locale], maxLabelLength),
        element: {
          type: "plain_text_input",
          action_id: inputAction,
          multiline: true,
          max_length: maxInputLength,
        },
      },
    ],
  };
}

/** Why the shortcut cannot be used there. */
export type ShortcutRefusal = "not_in_channel" | "not_set_up";

/** A modal without inputs that says why the shortcut cannot be used there. */
export function buildShortcutRefusalModal(request: {
  refusal: ShortcutRefusal;
  locale: Locale;
}): ModalView {
  const { refusal, locale } = request;
  return {
    ...createFrame({ title: askAboutTitle[locale], locale }),
    blocks: [section(shortcutRefusalText[refusal][locale])],
  };
}

export function createFrame({ title, locale }: { title: string; locale: Locale }) {
  return {
    type: "modal" as const,
    title: plainText(title, maxTitleLength),
    close: plainText(closeText[locale], maxTitleLength),
  };
}

export function plainText(text: string, maxLength: number) {
  return { type: "plain_text" as const, text: shorten({ text, maxLength }) };
}

/** Its block has the number of the field as id, because the agent's own ids mean nothing to Slack. */
function toInput(field: QuestionField, index: number): SlackBlock {
  return {
    type: "input",
    block_id: String(index),
    optional: field.required !== true,
    label: plainText(labelOf(field, index), maxLabelLength),
    element: { action_id: inputAction, ...toElement(field) },
  };
}

function toElement(field: QuestionField): { type: string } & Record<string, unknown> {
  switch (field.type) {
    case "choice":
      return { type: "static_select", options: toOptions(field.options) };
    case "choices":
      return { type: "multi_static_select", options: toOptions(field.options) };
    case "text":
      return {
        type: "plain_text_input",
        multiline: field.multiline === true,
        max_length: field.max_length ?? maxInputLength,
      };
    case "number": {
      const { min, max } = field;
      return {
        type: "number_input",
        is_decimal_allowed: true,
        ...(min === undefined ? {} : { min_value: decimal(min) }),
        ...(max === undefined ? {} : { max_value: decimal(max) }),
      };
    }
    case "date":
      return { type: "datepicker" };
  }
}

/** Without an exponent, which Slack does not take. */
function decimal(value: number): string {
  const text = String(value);
  return text.includes("e")
    ? value.toLocaleString("en", { useGrouping: false, maximumFractionDigits: 20 })
    : text;
}

function toOptions(options: readonly { label: string }[]): unknown[] {
  return options.map((option, index) => ({
    text: plainText(labelOf(option, index), maxOptionLength),
    value: String(index),
  }));
}

/** A label that shows nothing is replaced by the number of the field or the choice. */
function labelOf({ label }: { label: string }, index: number): string {
  const text = shorten({ text: label, maxLength: maxLabelLength });
  return isVisible(text) ? text : String(index + 1);
}

/** The values by the ids of the fields. `values` are by the numbers of the inputs, and choices are numbers of options. */
export function toFieldValues({
  fields,
  values,
}: {
  fields: readonly QuestionField[];
  values: FieldValues;
}): FieldValues {
  const entries = fields.flatMap((field, index): [string, FieldValue][] => {
    const value = values[String(index)];
    return value === undefined ? [] : [[field.id, toFieldValue(field, value)]];
  });
  return Object.fromEntries(entries);
}

function toFieldValue(field: QuestionField, value: FieldValue): FieldValue {
  if (field.type !== "choice" && field.type !== "choices") return value;
  const idOf = (number: string) => field.options[Number(number)]?.id ?? "";
  return Array.isArray(value) ? value.map(idOf) : idOf(String(value));
}

/** The values of an answered question for people, as pairs of a label and a text, in the order of the fields. */
export function listFieldAnswers(
  question: AgentQuestion,
  locale: Locale,
): { label: string; text: string }[] {
  const { fields = [], answer } = question;
  return fields.flatMap((field, index) => {
    const value = answer?.fields?.[field.id];
    return value === undefined || value === null
      ? []
      : [{ label: labelOf(field, index), text: toShown({ field, value, locale }) }];
  });
}

function toShown(request: {
  field: QuestionField;
  value: NonNullable<FieldValue>;
  locale: Locale;
}): string {
  const { field, value, locale } = request;
  if (field.type !== "choice" && field.type !== "choices") return String(value);
  const chosenIds: unknown[] = Array.isArray(value) ? value : [value];
  const shownOptions = field.options.map((option, index) => ({
    id: option.id,
    label: labelOf(option, index),
  }));
  return shownOptions
    .flatMap(({ id, label }) => (chosenIds.includes(id) ? [label] : []))
    .join(locale === "ja" ? "、" : ", ");
}

const questionTitle: LocalizedText = { en: "Your answer", ja: "回答" };
const submitText: LocalizedText = { en: "Send", ja: "送信" };
const closeText: LocalizedText = { en: "Close", ja: "閉じる" };

const askAboutTitle: LocalizedText = { en: "Ask about this", ja: "このメッセージについて依頼" };
const instructionLabel: LocalizedText = { en: "What should I do with it?", ja: "してほしいこと" };
const instructionHint: LocalizedText = {
  en: "Leave this empty to send the message as it is. I'll answer in its thread.",
  ja: "空欄の場合は、メッセージだけをエージェントに送ります。回答は元のメッセージのスレッドに投稿します。",
};

const shortcutRefusalText: Record<ShortcutRefusal, LocalizedText> = {
  not_in_channel: {
    en: "I'm not in this conversation, so I can't read the message or answer here. Add me to the channel, then try again.",
    ja: "アプリがこの会話に参加していないため、メッセージを読んだり回答したりできません。アプリをチャンネルに追加してから、もう一度お試しください。",
  },
  not_set_up: {
    en: "This shortcut isn't fully set up yet. Ask your admin to finish setting it up.",
    ja: "まだ設定が完了していません。アプリをインストールした方にお問い合わせください。",
  },
};
