/** The message that shows an agent's question: open with its buttons, answered, or closed. And the modal with its fields. */
import { isVisible } from "@sekisho/runtime/visible-text.ts";
import { needsButtons } from "../../task/answer-rules.ts";
import type { OverQuota } from "../../task/events.ts";
import type { AgentQuestion, GivenAnswer, Locale, Task } from "../../task/task.ts";
import type { MessageContent, ModalView, SlackBlock } from "../api/slack.ts";
import { escapeMrkdwn } from "../markdown/characters.ts";
import { literalMrkdwn } from "../markdown/literal.ts";
import { type Markdown, parseMarkdown } from "../markdown/markdown.ts";
import { mrkdwnBlocks, toMrkdwn } from "../markdown/mrkdwn.ts";
import { safeMarkdown } from "../markdown/safe-markdown.ts";
import { splitMarkdown } from "../markdown/safe-parts.ts";
import { cutBlocks, maxMrkdwnLength } from "../markdown/split.ts";
import { hasVisibleText } from "../markdown/visible-text.ts";
import { answerRulesText, approvalsText, buttonsHint, nameUsers } from "./answer-rules-text.ts";
import {
  type ButtonLook,
  buttons,
  context,
  cut,
  markdownBlock,
  maxButtons,
  removeEmpty,
  section,
  shorten,
  shortenWithLinks,
  slackDate,
} from "./blocks.ts";
import { buildQuestionModal, listFieldAnswers } from "./modal.ts";
import { buildSignInModal, nobodySignedIn, signedInLabel, signInContent } from "./sign-in.ts";

const maxPromptLength = 8000;
const cutMark = "\n…";
const maxMrkdwnPromptLength = 2500;
const maxAnswerLength = 300;
/** All answers of a form together, in mrkdwn. Each has the same share, so that none is missing below the prompt. */
const maxFormLength = 2500;
const maxFieldAnswerLength = 150;
const maxFieldLabelLength = 100;
const maxListedChoices = 50;

type ShownQuestion = { task: Task; question: AgentQuestion; locale: Locale };

/** `nowMs` decides whether the question has expired. */
export function questionContent({
  task,
  question,
  locale,
  nowMs,
}: ShownQuestion & { nowMs: number }): MessageContent {
  const status = toQuestionStatus({ task, question, nowMs });
  const closing = status === "open" ? "" : closingTextOf({ question, status })[locale];
  const labelOf = (index: number) => formatLabel({ question, index });
  const approvals = approvalsText({ question, locale }, labelOf);
  const outcome = question.answer === undefined ? closing : formatAnswer(question.answer);
  if (question.signIn !== undefined) return signInContent({ task, question, locale, end: outcome });
  const prompt = formatPrompt({ question, locale });
  const blocks = mrkdwnBlocks(prompt);
  const end = outcome === "" ? "" : removeEmpty([outcome, approvals]).join("\n");
  if (end !== "") {
    // The answers matter more than the rest of a long prompt.
    const room = maxMrkdwnLength - end.length - 2;
    const beginning = cutBlocks({ blocks, maxLength: Math.min(room, maxMrkdwnPromptLength) });
    return {
      text: `${beginning}\n\n${end}`,
      ...toRichBlocks([markdownBlock(prompt.text), section(end)]),
    };
  }
  const mrkdwnPrompt = cutBlocks({ blocks, maxLength: maxMrkdwnPromptLength });
  const isPlain = task.mrkdwnFallback === true && !needsButtons(question);
  const hint = removeEmpty([
    approvals,
    answerRulesText({ task, question, locale }, labelOf),
    createHint({ question, locale, isPlain }),
  ]).join("\n");
  return {
    text: cut({ text: `${mrkdwnPrompt}\n\n${hint}`, maxLength: maxMrkdwnLength }),
    ...toRichBlocks([
      markdownBlock(prompt.text),
      ...createButtons({ task, question, locale }),
      context(hint),
    ]),
  };

  function formatAnswer({
    option,
    text = "",
    ...otherMembers
  }: NonNullable<AgentQuestion["answer"]>): string {
    const label = option === undefined ? undefined : formatLabel({ question, index: option });
    const answerLine = answeredText({ ...otherMembers, label, locale });
    const replyLines =
      text === "" ? [] : [literalMrkdwn`> ${shorten({ text, maxLength: maxAnswerLength })}`];
    const answers = listFieldAnswers(question, locale);
    const maxLength = Math.floor(maxFormLength / Math.max(1, answers.length));
    const lines = answers.map((each) => formatFieldAnswer({ ...each, maxLength, locale }));
    return [answerLine, ...replyLines, ...lines].join("\n");
  }

  function toRichBlocks(blocks: SlackBlock[]): { blocks?: SlackBlock[] } {
    return task.mrkdwnFallback && !needsButtons(question) ? {} : { blocks };
  }
}

function formatFieldAnswer(request: {
  label: string;
  text: string;
  maxLength: number;
  locale: Locale;
}): string {
  const { label, text, maxLength, locale } = request;
  // The line's own signs, and one for its end.
  const room = maxLength - "> : ".length - 1;
  const name = escapeWithin({
    text: shorten({ text: label, maxLength: maxFieldLabelLength }),
    maxLength: room * 0.4,
  });
  const answer = shorten({ text, maxLength: maxFieldAnswerLength });
  return `> ${name}${locale === "ja" ? "：" : ": "}${escapeWithin({ text: answer, maxLength: room - name.length })}`;
}

/** Returns the beginning of the text in mrkdwn that is not longer than `maxLength` when it is escaped: `&` takes five characters. */
function escapeWithin({ text, maxLength }: { text: string; maxLength: number }): string {
  for (let length = Math.floor(maxLength); ; length = Math.floor(length * 0.8)) {
    const escapedText = literalMrkdwn`${shorten({ text, maxLength: length })}`;
    if (escapedText.length <= maxLength || length < 2) return escapedText;
  }
}

/** The modal with the fields of the task's question, or with its link to sign in. Undefined if it has neither. */
export function questionModalView({
  task,
  locale,
}: {
  task: Task;
  locale: Locale;
}): ModalView | undefined {
  const { question } = task;
  if (question === undefined) return undefined;
  const build = question.signIn === undefined ? buildQuestionModal : buildSignInModal;
  const prompt = toMrkdwn(formatPrompt({ question, locale }));
  return build({ task, question, prompt, locale });
}

/** Returns safe Markdown. Reads only the beginning of the prompt, because it may be as long as a whole response. */
function formatPrompt(request: { question: AgentQuestion; locale: Locale }): Markdown {
  const { question, locale } = request;
  const markdown = safeMarkdown(question.prompt.slice(0, maxPromptLength * 2).trim());
  const [prompt, nextPart] = splitMarkdown({
    markdown,
    maxLength: maxPromptLength - cutMark.length,
  });
  if (prompt === undefined || !hasVisibleText(prompt)) return parseMarkdown(noPromptText[locale]);
  return nextPart === undefined ? prompt : safeMarkdown(prompt.text + cutMark);
}

function toQuestionStatus(
  request: Omit<ShownQuestion, "locale"> & { nowMs: number },
): QuestionStatus {
  const { task, question, nowMs } = request;
  if (task.cancelReason === "unanswered" || task.outcome?.type === "unanswered") return "expired";
  if (task.cancelReason !== undefined || task.outcome !== undefined) return "over";
  return nowMs >= question.expiresAtMs ? "expired" : "open";
}

/** A question of kind `auth` has no buttons, because nobody should answer it in Slack. */
function createButtons({ task, question, locale }: ShownQuestion): SlackBlock[] {
  if (question.fields !== undefined) {
    const button = { type: "open_form", question: question.index } as const;
    return [
      buttons([{ requestId: task.id, button, label: openFormLabel[locale], style: "primary" }]),
    ];
  }
  if (question.kind === "auth" || question.options.length === 0) return [];
  const optionButtons = question.options.map(
    ({ style }, option): ButtonLook => ({
      requestId: task.id,
      button: { type: "answer", question: question.index, option },
      label: formatLabel({ question, index: option }),
      style,
    }),
  );
  return [buttons(optionButtons)];
}

function createHint(options: {
  question: AgentQuestion;
  locale: Locale;
  isPlain: boolean;
}): string {
  const { question, locale, isPlain } = options;
  if (question.kind === "auth") return hints.auth[locale];
  const until = untilText[locale](slackDate({ atMs: question.expiresAtMs, locale }));
  const labels = question.options.map(
    (_, index) => literalMrkdwn`• ${formatLabel({ question, index })}`,
  );
  const listedChoices = (isPlain ? labels : labels.slice(maxButtons)).slice(0, maxListedChoices);
  const kind =
    question.fields !== undefined && !isPlain
      ? "form"
      : isPlain || labels.length === 0
        ? "reply"
        : listedChoices.length > 0
          ? "more"
          : "buttons";
  const hint = buttonsHint(question, locale) ?? hints[kind][locale];
  // The choices come last, because a long list of them is cut.
  return (listedChoices.length === 0 ? [hint, until] : [until, hint, ...listedChoices]).join("\n");
}

function formatLabel({ question, index }: { question: AgentQuestion; index: number }): string {
  const { id = "", label = "" } = question.options[index] ?? {};
  const [text = String(index + 1)] = [label, id]
    .map((text) => shortenWithLinks({ text, maxLength: 75 }))
    .filter(isVisible);
  return text;
}

type LocalizedText = Record<Locale, string>;

type QuestionStatus = "open" | "expired" | "over";

const openFormLabel: LocalizedText = { en: "Answer", ja: "回答する" };

const hints: Record<"buttons" | "form" | "reply" | "more" | "auth", LocalizedText> = {
  buttons: {
    en: "Press a button, or reply in this thread.",
    ja: "ボタンを押すか、このスレッドで返信してください。",
  },
  form: {
    en: "Press Answer to fill in the form, or reply in this thread.",
    ja: "「回答する」を押して入力するか、このスレッドで返信してください。",
  },
  reply: { en: "Reply in this thread to answer.", ja: "回答は、このスレッドで返信してください。" },
  more: {
    en: "Press a button, or reply in this thread. More choices:",
    ja: "ボタンを押すか、このスレッドで返信してください。ほかの選択肢：",
  },
  auth: {
    en: "The agent needs you to sign in or give it access. Follow its instructions. Never post passwords or tokens here.",
    ja: "エージェントが、サインインまたはアクセスの許可を求めています。案内に沿って操作してください。パスワードやトークンは、ここには絶対に書かないでください。",
  },
};

export const noPromptText: LocalizedText = {
  en: "The agent needs your answer to continue.",
  ja: "続けるには、回答が必要です。",
};

function closingTextOf(closed: {
  question: AgentQuestion;
  status: Exclude<QuestionStatus, "open">;
}): LocalizedText {
  const { question, status } = closed;
  if (status !== "expired") return closingText[status];
  if (question.signIn !== undefined) return nobodySignedIn;
  return question.approvals?.given.length ? tooFewAgreed : closingText.expired;
}

const closingText: Record<Exclude<QuestionStatus, "open">, LocalizedText> = {
  expired: { en: "⌛ Nobody answered in time.", ja: "⌛ 期限までに回答がありませんでした。" },
  over: { en: "This no longer needs an answer.", ja: "回答は不要になりました。" },
};

/** Some have agreed, whose names follow. */
const tooFewAgreed: LocalizedText = {
  en: "⌛ Too few people agreed in time.",
  ja: "⌛ 期限までに必要な人数の同意が得られませんでした。",
};

const untilText: Record<Locale, (date: string) => string> = {
  en: (date) => `Answer by ${date}.`,
  ja: (date) => `回答期限：${date}`,
};

const answeredByText: LocalizedText = { en: "Answered in the thread", ja: "スレッドで回答" };
const answeredByFormText: LocalizedText = { en: "Answered", ja: "回答済み" };
const answererText: Record<Locale, (by: string, date: string) => string> = {
  en: (by, date) => `${by}, ${date}`,
  ja: (by, date) => `${by}（${date}）`,
};

/** `label` is the label of the chosen option. It is undefined if the question was answered by text, by a form or by signing in. */
function answeredText(
  request: Pick<GivenAnswer, "user" | "atMs" | "fields" | "signedIn" | "approvedBy"> & {
    label: string | undefined;
    locale: Locale;
  },
): string {
  const { label, fields, signedIn, user, approvedBy = [user], atMs, locale } = request;
  const unlabeled = signedIn
    ? signedInLabel
    : fields === undefined
      ? answeredByText
      : answeredByFormText;
  const choice = label === undefined ? unlabeled[locale] : literalMrkdwn`*${label}*`;
  return `✔ ${choice} — ${answererText[locale](nameUsers(approvedBy, locale), slackDate({ atMs, locale }))}`;
}

type ReplyRefusalType = Exclude<ButtonClickRefusal["type"], "not_allowed" | "limited">;

const refusals: Record<Exclude<ReplyRefusalType, "answered">, LocalizedText> = {
  not_yours: {
    en: "This button is for someone else.",
    ja: "このボタンを操作する権限がありません。",
  },
  expired: { en: "It's too late to answer this.", ja: "この質問の回答期限は過ぎています。" },
  past: { en: "This question has already been answered.", ja: "この質問はすでに回答済みです。" },
  files_left: {
    en: "I can't take files with an answer. Put what matters in your reply, or send the files in a new message when this is done.",
    ja: "回答にファイルは添付できません。必要な内容を返信に書くか、この依頼が終わってから、新しいメッセージでファイルをお送りください。",
  },
  use_buttons: {
    en: "I can't take a reply to this question. Press one of its buttons.",
    ja: "この質問には返信では回答できません。質問のボタンを押してください。",
  },
  over: { en: "This has already ended.", ja: "この依頼はすでに終了しています。" },
  form_too_late: {
    en: "The form took too long to open. Press the button again.",
    ja: "時間がかかったため、フォームを開けませんでした。もう一度ボタンを押してください。",
  },
  form_not_opened: {
    en: "I couldn't open the form. Press the button again, or reply in this thread.",
    ja: "フォームを開けませんでした。もう一度ボタンを押すか、このスレッドで返信してください。",
  },
  shortcut_not_opened: {
    en: "The shortcut took too long to open. Try it again.",
    ja: "時間がかかったため、入力画面を開けませんでした。もう一度ショートカットを選択してください。",
  },
  retried: {
    en: "I've already tried this again. See further down in this thread.",
    ja: "すでに再実行しています。このスレッドの新しいメッセージをご覧ください。",
  },
};
const alreadyAnswered: Record<Locale, (by: string, date: string) => string> = {
  en: (by, date) => `${by} has already answered this (${date}).`,
  ja: (by, date) => `この質問には、すでに ${by} さんが回答しています（${date}）。`,
};

export function replyRefusalText(request: {
  refusal: Exclude<ButtonClickRefusal, { type: "not_allowed" | "limited" }>;
  locale: Locale;
}): string {
  const { refusal, locale } = request;
  return refusal.type === "answered"
    ? alreadyAnswered[locale](
        `<@${escapeMrkdwn(refusal.by)}>`,
        slackDate({ atMs: refusal.atMs, locale }),
      )
    : refusals[refusal.type][locale];
}

/** Why a button click or a reply had no effect. Only the person who clicked or replied sees the text. */
export type ButtonClickRefusal =
  | { type: "not_yours" }
  | { type: "answered"; by: string; atMs: number }
  | { type: "expired" }
  /** The button belongs to an earlier question. */
  | { type: "past" }
  /** The reply has files, which cannot be sent to the agent. */
  | { type: "files_left" }
  /** The question needs a click on one of its buttons. */
  | { type: "use_buttons" }
  /** The person may no longer ask here. */
  | { type: "not_allowed" }
  /** The person, or the channel, has no room for another task now. */
  | ({ type: "limited"; atMs: number } & OverQuota)
  /** The task was tried again before. */
  | { type: "retried" }
  | { type: "over" }
  /** Slack allows three seconds to open a modal. */
  | { type: "form_too_late" | "form_not_opened" | "shortcut_not_opened" };
