/** Every text of our own that a user reads, in English and Japanese. Never a code, a URL or an exception. Pure. */
import type { ClientReason } from "../../../contracts/errors.ts";
import { failureWords, type Locale, type Words } from "./failure-words.ts";

type Asked = { team: string; channel: string; user: string };

const placeholder: Record<Locale, string> = {
  en: "Working on it …",
  ja: "取りかかっています…",
};

const emptyAnswer: Record<Locale, string> = {
  en: "The agent finished, but its answer is empty.",
  ja: "エージェントは完了しましたが、回答は空でした。",
};

const refusal: Record<Locale, (asked: Asked) => Words> = {
  en: ({ team, channel, user }) => ({
    happened: "You are not on the list of those who may ask me here.",
    todo: `Please ask your administrator to add you: team ${team}, channel ${channel}, user ${user}.`,
  }),
  ja: ({ team, channel, user }) => ({
    happened: "ここで私に依頼できる人のリストに、あなたは登録されていません。",
    todo: `管理者に登録を依頼してください（team ${team}、channel ${channel}、user ${user}）。`,
  }),
};

const tooOld: Record<Locale, Words> = {
  en: {
    happened: "Your message reached me more than a day late, so I did not act on it.",
    todo: "Please ask again if you still need it.",
  },
  ja: {
    happened: "メッセージが届くまでに一日以上かかったため、実行しませんでした。",
    todo: "まだ必要でしたら、もう一度お願いしてください。",
  },
};

const reference: Record<Locale, string> = { en: "Reference:", ja: "照会番号：" };

export function placeholderWords(locale: Locale): string {
  return placeholder[locale];
}

export function emptyAnswerWords(locale: Locale): string {
  return emptyAnswer[locale];
}

/** `lost`: the Execution zone lost the task on the way. */
export function wordsFor({
  reason,
  lost = false,
  locale,
  requestId,
}: {
  reason: ClientReason;
  lost?: boolean;
  locale: Locale;
  requestId: string;
}): string {
  return compose({ words: failureWords({ reason, lost, locale }), locale, requestId });
}

/** Names the ids that an administrator needs for the allowlist. */
export function refusalWords({
  asked,
  locale,
  requestId,
}: {
  asked: Asked;
  locale: Locale;
  requestId: string;
}): string {
  return compose({ words: refusal[locale](asked), locale, requestId });
}

export function tooOldWords({ locale, requestId }: { locale: Locale; requestId: string }): string {
  return compose({ words: tooOld[locale], locale, requestId });
}

/** The first eight digits of the request id suffice to find the task in the logs. */
function compose({ words, locale, requestId }: { words: Words; locale: Locale; requestId: string }): string {
  const between = locale === "ja" ? "" : " ";
  return `${words.happened}${between}${words.todo}\n_${reference[locale]} ${requestId.slice(0, 8)}_`;
}
