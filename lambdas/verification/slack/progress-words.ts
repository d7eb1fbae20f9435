/** What a user reads while a task is under way: in its placeholder, and as the assistant's status. Pure. */
import type { Locale } from "./failure-words.ts";

/** What the task does at the moment. */
export type Doing = "working" | "retrying" | "writing" | "asking" | "canceling" | "ending";

const doing: Record<Doing, Record<Locale, string>> = {
  working: { en: "Working on it …", ja: "取りかかっています…" },
  retrying: { en: "Trying again …", ja: "もう一度取りかかっています…" },
  writing: { en: "Writing …", ja: "回答を書いています…" },
  asking: { en: "Waiting for an answer to the question …", ja: "質問への回答を待っています…" },
  canceling: { en: "Canceling …", ja: "取り消しています…" },
  ending: { en: "The time for this is up: stopping …", ja: "時間切れのため、終了しています…" },
};

/** Slack puts the app's name before it. */
const status: Record<Doing, Record<Locale, string>> = {
  working: { en: "is working on it…", ja: "が取りかかっています…" },
  retrying: { en: "is trying again…", ja: "がもう一度取りかかっています…" },
  writing: { en: "is writing…", ja: "が回答を書いています…" },
  asking: { en: "is waiting for your answer…", ja: "が回答を待っています…" },
  canceling: { en: "is canceling…", ja: "が取り消しています…" },
  ending: { en: "is stopping…", ja: "が終了しています…" },
};

const queued: Record<Locale, (ahead: number) => string> = {
  en: (ahead) =>
    `I take the messages of a thread one by one: this one comes after the ${ahead === 1 ? "one" : ahead} before it …`,
  ja: (ahead) => `スレッドのメッセージは一件ずつ処理します。この件は先の${ahead}件の後になります…`,
};

const queuedStatus: Record<Locale, string> = { en: "will come to it soon…", ja: "が順番を待っています…" };

const cancel: Record<Locale, string> = { en: "Cancel", ja: "取り消す" };

export function cancelLabel(locale: Locale): string {
  return cancel[locale];
}

/** `ahead` tasks of the thread go before it. */
export function doingWords({ what, ahead, locale }: { what: Doing; ahead: number; locale: Locale }): string {
  const now = doing[what][locale];
  if (ahead === 0 || isOver(what)) return now;
  return what === "retrying" ? `${now} ${queued[locale](ahead)}` : queued[locale](ahead);
}

export function statusWords({ what, ahead, locale }: { what: Doing; ahead: number; locale: Locale }): string {
  return ahead > 0 && !isOver(what) ? queuedStatus[locale] : status[what][locale];
}

function isOver(what: Doing): boolean {
  return what === "canceling" || what === "ending";
}

const barLength = 10;

/** `▓▓▓░░░░░░░ 30 %`. Full only when it is. */
export function percentBar(percent: number): string {
  const whole = Math.floor(Math.min(100, Math.max(0, percent)));
  const filled = Math.floor((whole / 100) * barLength);
  return `${"▓".repeat(filled)}${"░".repeat(barLength - filled)} ${whole} %`;
}
