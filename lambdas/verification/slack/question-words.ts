/** What a user reads around a question of the agent. Pure. */
import { escapeMrkdwn } from "./escape.ts";
import type { Locale } from "./failure-words.ts";
import { slackDate } from "./slack-date.ts";
import type { PressRefusal } from "./task-text.ts";

type Words = Record<Locale, string>;

/** How a question stands. */
export type Standing = "open" | "expired" | "over";

const hints: Record<"buttons" | "words" | "more" | "auth", Words> = {
  buttons: {
    en: "Press a button, or reply in this thread in your own words.",
    ja: "ボタンを押すか、このスレッドに返信して回答してください。",
  },
  words: { en: "Reply in this thread to answer.", ja: "このスレッドに返信して回答してください。" },
  more: {
    en: "Press a button, or reply in this thread; there are further choices:",
    ja: "ボタンを押すか、このスレッドに返信して回答してください。ほかの選択肢：",
  },
  auth: {
    en: "The agent needs you to sign in, or to give it access. Do that where the agent says, and never write a password or a token here.",
    ja: "エージェントがサインインまたはアクセスの許可を求めています。エージェントの案内する場所で行い、パスワードやトークンはここに書かないでください。",
  },
};

const noPrompt: Words = { en: "The agent needs an answer to go on.", ja: "続けるには回答が必要です。" };

const closed: Record<Exclude<Standing, "open">, Words> = {
  expired: { en: "⌛ Nobody answered in time.", ja: "⌛ 期限までに回答がありませんでした。" },
  over: { en: "The task is over; this needs no answer any more.", ja: "タスクは終了しました。回答は不要です。" },
};

const until: Record<Locale, (date: string) => string> = {
  en: (date) => `Answer until ${date}.`,
  ja: (date) => `回答期限：${date}`,
};

const inWords: Words = { en: "in the thread", ja: "スレッドで回答" };

export function hintWords({ kind, locale }: { kind: keyof typeof hints; locale: Locale }): string {
  return hints[kind][locale];
}

export function noPromptWords(locale: Locale): string {
  return noPrompt[locale];
}

export function untilWords({ expiresAtMs, locale }: { expiresAtMs: number; locale: Locale }): string {
  return until[locale](slackDate({ atMs: expiresAtMs, locale }));
}

export function closedWords({ standing, locale }: { standing: Exclude<Standing, "open">; locale: Locale }): string {
  return closed[standing][locale];
}

/** `label` is the option's, as it was shown; without it the question was answered in words. */
export function answeredWords(request: {
  label: string | undefined;
  user: string;
  atMs: number;
  locale: Locale;
}): string {
  const { label, user, atMs, locale } = request;
  const what = label === undefined ? inWords[locale] : `*${escapeMrkdwn(label).replaceAll("*", "∗")}*`;
  return `✔ ${what} — <@${escapeMrkdwn(user)}>, ${slackDate({ atMs, locale })}`;
}

const notYours: Words = { en: "This button is for somebody else.", ja: "このボタンはほかの方のためのものです。" };
const late: Words = { en: "The time to answer this is over.", ja: "この質問の回答期限は過ぎています。" };
const past: Words = { en: "This question is answered already.", ja: "この質問にはすでに回答がありました。" };
const filesLeft: Words = {
  en: "I cannot take files along with an answer. Please say in words what matters in them, or send them in a new message when the task is done.",
  ja: "回答にはファイルを添えられません。必要な内容を文章で書くか、タスクの終了後に新しいメッセージで送ってください。",
};
const over: Words = { en: "This task is over already.", ja: "このタスクはすでに終了しています。" };
const answered: Record<Locale, (by: string, date: string) => string> = {
  en: (by, date) => `${by} answered this already (${date}).`,
  ja: (by, date) => `この質問には、すでに${by}さんが回答しています（${date}）。`,
};

/** A refusal without words does not compile. */
export function refusalWords({ refusal, locale }: { refusal: PressRefusal; locale: Locale }): string {
  switch (refusal.type) {
    case "not_yours":
      return notYours[locale];
    case "expired":
      return late[locale];
    case "over":
      return over[locale];
    case "past":
      return past[locale];
    case "files_left":
      return filesLeft[locale];
    case "answered":
      return answered[locale](`<@${escapeMrkdwn(refusal.by)}>`, slackDate({ atMs: refusal.atMs, locale }));
  }
}
