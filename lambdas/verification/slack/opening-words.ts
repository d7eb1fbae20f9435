/** What opens the thread of a slash command, of which the channel shows nothing by itself. Pure. */
import type { Task } from "../task/task.ts";
import { escapeMrkdwn } from "./escape.ts";
import type { Locale } from "./failure-words.ts";
import { shorten } from "./shorten.ts";

const maxLength = 300;

const inChannel: Record<Locale, (user: string, text: string) => string> = {
  en: (user, text) => `<@${user}> asked: ${text}`,
  ja: (user, text) => `<@${user}>さんの依頼：${text}`,
};

const inDirect: Record<Locale, (text: string) => string> = {
  en: (text) => `You asked: ${text}`,
  ja: (text) => `ご依頼：${text}`,
};

const nothing: Record<Locale, string> = { en: "(no text)", ja: "（テキストなし）" };

/** Of a direct message (`D…`) the reader is who asked. */
export function openingText({ task, locale }: { task: Task; locale: Locale }): string {
  const { message, place } = task;
  const text = escapeMrkdwn(shorten({ text: message.text, maxLength })) || nothing[locale];
  const isDirect = message.direct || (place?.channel ?? message.channel).startsWith("D");
  return isDirect ? inDirect[locale](text) : inChannel[locale](escapeMrkdwn(message.user), text);
}
