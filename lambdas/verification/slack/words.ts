/** What our own words to a user are made of, in English and Japanese. Never a code, a URL or an exception. Pure. */
import type { Outcome, Task } from "../task/task.ts";
import { failureWords, type Locale, type Words } from "./failure-words.ts";
import { fileName, outcomeWords } from "./outcome-words.ts";

const reference: Record<Locale, (shortId: string) => string> = {
  en: (shortId) => `Reference: ${shortId}`,
  ja: (shortId) => `照会番号：${shortId}`,
};

const retried: Record<Locale, (shortId: string) => string> = {
  en: (shortId) => `_Tried again (reference: ${shortId})_`,
  ja: (shortId) => `_もう一度試しました（照会番号：${shortId}）_`,
};

const canceling: Record<Locale, (count: number) => string> = {
  en: (count) =>
    count === 0
      ? "There is nothing in this thread that you could cancel. Write the word in the task's own thread, or ask whoever started the task."
      : `I am canceling ${count === 1 ? "the task of this thread; the answer to it says so" : `the ${count} tasks of this thread; the answer to each says so`}.`,
  ja: (count) =>
    count === 0
      ? "このスレッドには、あなたが取り消せるものがありません。そのタスクのスレッドに書くか、依頼した人に頼んでください。"
      : `このスレッドの${count}件を取り消しています。結果はそれぞれに表示されます。`,
};

const emptyAnswer: Record<Locale, (files: number) => string> = {
  en: (files) =>
    files === 0
      ? "The agent answered, but without any text."
      : `The agent answered with ${files === 1 ? "a file" : `${files} files`}.`,
  ja: (files) =>
    files === 0
      ? "エージェントから応答がありましたが、テキストが含まれていませんでした。"
      : `エージェントがファイル${files}件で回答しました。`,
};

const goesOn: Record<Locale, (name: string) => string> = {
  en: (name) => `_This is how the answer begins. All of it is attached as ${name}._`,
  ja: (name) => `_回答の冒頭です。全文は添付の ${name} をご覧ください。_`,
};

const notAttached: Record<Locale, (names: readonly string[]) => string> = {
  en: (names) =>
    `I could not attach ${names.length === 1 ? "this file" : "these files"} of the answer: ${names.join(", ")}`,
  ja: (names) => `次のファイルを添付できませんでした：${names.join("、")}`,
};

const leftOut: Record<Locale, (count: number) => string> = {
  en: (count) =>
    `${count} more ${count === 1 ? "file" : "files"} of the answer could not be attached and ${count === 1 ? "is" : "are"} left out.`,
  ja: (count) => `ほかに${count}件のファイルがありますが、添付できませんでした。`,
};

/** The first eight digits of the request id suffice to find the task in the logs. */
export function referenceWords({ locale, requestId }: { locale: Locale; requestId: string }): string {
  return reference[locale](requestId.slice(0, 8));
}

/** Goes before whatever a retry comes to. `retryOf` is the first task's request id. */
export function retriedWords({ locale, retryOf }: { locale: Locale; retryOf: string }): string {
  return retried[locale](retryOf.slice(0, 8));
}

/** Of an answer without text, with so many files. */
export function emptyAnswerWords({ locale, files }: { locale: Locale; files: number }): string {
  return emptyAnswer[locale](files);
}

export function goesOnWords({ locale, name }: { locale: Locale; name: string }): string {
  return goesOn[locale](fileName(name));
}

const undelivered: Record<Locale, string> = {
  en: "The agent has answered, but Slack did not accept the answer from me. Please give the reference below to your administrator, who can have it sent again.",
  ja: "エージェントは回答しましたが、Slackに投稿できませんでした。下の照会番号を管理者に伝えてください。管理者は回答を再送できます。",
};

const replaced: Record<Locale, string> = {
  en: "_My answer is in another message of this thread._",
  ja: "_回答はこのスレッドの別のメッセージにあります。_",
};

/** Stands in a message that cannot be deleted. */
export function replacedText({ locale }: { locale: Locale }): string {
  return replaced[locale];
}

/** Stands in place of an answer that Slack took at none of many tries. */
export function undeliveredText({ locale }: { locale: Locale }): string {
  return undelivered[locale];
}

/** Nothing where all files of the answer are there. */
export function missingFilesWords(request: { locale: Locale; failed: readonly string[]; leftOut: number }): string {
  const { locale, failed } = request;
  return [
    ...(failed.length === 0 ? [] : [notAttached[locale](failed.map(fileName))]),
    ...(request.leftOut === 0 ? [] : [leftOut[locale](request.leftOut)]),
  ].join("\n");
}

/** Of every outcome that is no answer, and of none at all. In mrkdwn, without the reference. */
export function sentencesFor(request: {
  task: Pick<Task, "message" | "receivedAtMs">;
  outcome: Exclude<Outcome, { type: "answer" }> | undefined;
  locale: Locale;
  contact: string | undefined;
}): string {
  const { task, outcome, locale, contact } = request;
  if (outcome?.type === "canceling") return canceling[locale](outcome.count);
  if (outcome === undefined)
    return sentences({ words: failureWords({ reason: "internal", lost: false, locale }), locale });
  const words =
    outcome.type === "failed"
      ? failureWords({ ...outcome, locale })
      : outcomeWords({ outcome, locale, asked: task.message, contact, nowMs: task.receivedAtMs });
  return sentences({ words, locale });
}

function sentences({ words: { happened, todo }, locale }: { words: Words; locale: Locale }): string {
  return `${happened}${locale === "ja" ? "" : " "}${todo}`;
}
