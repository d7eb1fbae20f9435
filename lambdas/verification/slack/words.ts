/** Every text of our own that a user reads, in English and Japanese. Never a code, a URL or an exception. Pure. */
import type { ClientReason } from "../../../contracts/errors.ts";
import { failureWords, type Locale, type Words } from "./failure-words.ts";

type Asked = { team: string; channel: string; user: string };

const placeholder: Record<Locale, string> = {
  en: "Working on it …",
  ja: "取りかかっています…",
};

const queued: Record<Locale, (ahead: number) => string> = {
  en: (ahead) =>
    `I take the messages of a thread one by one: this one comes after the ${ahead === 1 ? "one" : ahead} before it …`,
  ja: (ahead) => `スレッドのメッセージは一件ずつ処理します。この件は先の${ahead}件の後になります…`,
};

const retrying: Record<Locale, string> = { en: "Trying again …", ja: "もう一度取りかかっています…" };

const retried: Record<Locale, (reference: string) => string> = {
  en: (reference) => `_Tried again (reference: ${reference})_`,
  ja: (reference) => `_もう一度試しました（照会番号：${reference}）_`,
};

const canceling: Record<Locale, (count: number) => string> = {
  en: (count) =>
    count === 0
      ? "There is nothing to cancel in this thread. To cancel a task, write the word in the task's own thread."
      : `I am canceling ${count === 1 ? "the task of this thread; the answer to it says so" : `the ${count} tasks of this thread; the answer to each says so`}.`,
  ja: (count) =>
    count === 0
      ? "このスレッドには取り消すものがありません。取り消すには、そのタスクのスレッドに書いてください。"
      : `このスレッドの${count}件を取り消しています。結果はそれぞれに表示されます。`,
};

const emptyAnswer: Record<Locale, string> = {
  en: "The agent answered, but without any text.",
  ja: "エージェントから応答がありましたが、テキストが含まれていませんでした。",
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

const unreadable: Record<Locale, Words> = {
  en: {
    happened: "I cannot read the message any more that I was to try again.",
    todo: "Please ask again in a new message.",
  },
  ja: {
    happened: "もう一度試すはずだったメッセージを読めませんでした。",
    todo: "新しいメッセージでもう一度お願いしてください。",
  },
};

const reference: Record<Locale, string> = { en: "Reference:", ja: "照会番号：" };

/** `ahead` tasks of the thread go before it. */
export function placeholderWords({
  locale,
  ahead,
  isRetry,
}: {
  locale: Locale;
  ahead: number;
  isRetry: boolean;
}): string {
  const now = isRetry ? retrying[locale] : placeholder[locale];
  if (ahead === 0) return now;
  return isRetry ? `${retrying[locale]} ${queued[locale](ahead)}` : queued[locale](ahead);
}

/** Goes before whatever a retry comes to. `retryOf` is the first task's request id. */
export function retriedWords({ locale, retryOf }: { locale: Locale; retryOf: string }): string {
  return `${retried[locale](retryOf.slice(0, 8))}\n`;
}

/** To the word `cancel` in a thread with so many tasks under way. */
export function cancelingWords({ locale, count }: { locale: Locale; count: number }): string {
  return canceling[locale](count);
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

/** The message of a retry was deleted, or is none that the bot may read. */
export function unreadableWords({ locale, requestId }: { locale: Locale; requestId: string }): string {
  return compose({ words: unreadable[locale], locale, requestId });
}

/** The first eight digits of the request id suffice to find the task in the logs. */
function compose({ words, locale, requestId }: { words: Words; locale: Locale; requestId: string }): string {
  const between = locale === "ja" ? "" : " ";
  return `${words.happened}${between}${words.todo}\n_${reference[locale]} ${requestId.slice(0, 8)}_`;
}
