/** The texts for every outcome except the answer, in English and Japanese. They never show a code, a URL or an exception. */

import { isVisible } from "@sekisho/runtime/visible-text.ts";
import type { OverQuota } from "../../task/events.ts";
import { isCanceled, type Locale, type Task, type TaskOutcome } from "../../task/task.ts";
import { escapeMrkdwn } from "../markdown/characters.ts";
import { literalMrkdwn } from "../markdown/literal.ts";
import { removeEmpty, shortenWithLinks, slackDate, spanText } from "./blocks.ts";
import { failureText, type Notice, unconfirmedCancelText } from "./failure-text.ts";
import { fileRefusalText, formatFileName } from "./file-refusal-text.ts";

const reference: Record<Locale, (shortId: string) => string> = {
  en: (shortId) => `Reference: ${shortId}`,
  ja: (shortId) => `お問い合わせ番号：${shortId}`,
};

const retryText: Record<Locale, (shortId: string) => string> = {
  en: (shortId) => `_This is a retry of ${shortId}._`,
  ja: (shortId) => `_お問い合わせ番号 ${shortId} の再実行です。_`,
};

const canceling: Record<Locale, (count: number) => string> = {
  en: (count) =>
    count === 0
      ? "There's nothing in this thread that you can cancel."
      : `I'm canceling ${count === 1 ? "the task" : `${count} tasks`} in this thread.`,
  ja: (count) =>
    count === 0
      ? "このスレッドには、キャンセルできる依頼がありません。"
      : `このスレッドの依頼${count}件をキャンセルしています。`,
};

/** For an answer without text. `files` counts its attached files. */
export const emptyAnswerText: Record<Locale, (files: number) => string> = {
  en: (files) =>
    files === 0
      ? "The agent's answer was empty. Try rephrasing your request."
      : `The agent's answer is in the ${files === 1 ? "attached file" : `${files} attached files`}.`,
  ja: (files) =>
    files === 0
      ? "エージェントの回答が空でした。依頼の書き方を変えて、もう一度お試しください。"
      : `回答は添付ファイル（${files}件）をご覧ください。`,
};

const answerStart: Record<Locale, (name: string) => string> = {
  en: (name) => `_This is only the beginning. The full answer is in ${name}._`,
  ja: (name) => `_回答の冒頭のみ表示しています。全文は ${name} をご覧ください。_`,
};

/** Shown below an answer that is cut. */
export const cutAnswerText: Record<Locale, string> = {
  en: "_The answer is too long to show in full._",
  ja: "_回答が長すぎるため、途中までしか表示できません。_",
};

const notAttached: Record<Locale, (names: readonly string[]) => string> = {
  en: (names) =>
    `I couldn't attach ${names.length === 1 ? "this file" : "these files"}: ${names.join(", ")}`,
  ja: (names) => `次のファイルを添付できませんでした：${names.join("、")}`,
};

const leftOut: Record<Locale, (count: number) => string> = {
  en: (count) => `I couldn't attach ${count} more ${count === 1 ? "file" : "files"}.`,
  ja: (count) => `ほかに${count}件のファイルを添付できませんでした。`,
};

/** The first eight digits of the request id are enough to find the task in the logs. */
export function referenceText({
  locale,
  requestId,
}: {
  locale: Locale;
  requestId: string;
}): string {
  return reference[locale](requestId.slice(0, 8));
}

/** Shown above the outcome: that the task is a retry, and that its thread has another agent now. Returns "" for most tasks. */
export function aboveText({ task, locale }: { task: Task; locale: Locale }): string {
  const { retryOf } = task;
  const retry = retryOf === undefined ? "" : retryText[locale](retryOf.slice(0, 8));
  return removeEmpty([retry, routeChangeText({ task, locale })]).join("\n");
}

/** Says who answers in the thread from this task on. Returns "" if its agent is the one of the tasks before it. */
export function routeChangeText({ task, locale }: { task: Task; locale: Locale }): string {
  const { route, call } = task;
  if (route?.change === undefined || call === undefined) return "";
  const { reason, isAnew } = route.change;
  const agent = `*${escapeMrkdwn(call.destination)}*`;
  const sentences = [
    ...(reason === "gone" ? [goneAgent[locale]] : []),
    (isAnew ? newAgentAnew : newAgent)[locale](agent),
  ];
  return `_${sentences.join(locale === "ja" ? "" : " ")}_`;
}

const goneAgent: Record<Locale, string> = {
  en: "The agent of this thread is no longer available.",
  ja: "このスレッドのエージェントは利用できなくなりました。",
};

const newAgent: Record<Locale, (agent: string) => string> = {
  en: (agent) => `From here on, ${agent} answers.`,
  ja: (agent) => `ここからは ${agent} が対応します。`,
};

const newAgentAnew: Record<Locale, (agent: string) => string> = {
  en: (agent) => `From here on, ${agent} answers. It doesn't see the earlier answers.`,
  ja: (agent) => `ここからは ${agent} が対応します。これまでの回答は引き継がれません。`,
};

export function continuedText({ locale, name }: { locale: Locale; name: string }): string {
  return answerStart[locale](formatFileName(name));
}

/** Shown in place of an answer that Slack refused at every try. */
export const undeliveredText: Record<Locale, string> = {
  en: "I have the answer, but I couldn't post it in Slack. Ask your admin to send it again, and give them the reference below.",
  ja: "回答は届いていますが、Slackに投稿できませんでした。下のお問い合わせ番号を管理者に伝え、再送を依頼してください。",
};

/** Shown below what the agent had written when its task was canceled. */
export const canceledAnswerText: Record<Locale, string> = {
  en: "_Canceled. The answer above is incomplete._",
  ja: "_キャンセルされました。上の内容は途中までです。_",
};

/** Shown in an outdated message that Slack does not delete. */
export const replacedText: Record<Locale, string> = {
  en: "_The answer is in another message in this thread._",
  ja: "_回答はこのスレッドの別のメッセージにあります。_",
};

/** Returns "" if all files were attached. */
export function missingFilesText(request: {
  locale: Locale;
  failed: readonly string[];
  leftOut: number;
}): string {
  const { locale, failed } = request;
  return [
    ...(failed.length === 0 ? [] : [notAttached[locale](failed.map(formatFileName))]),
    ...(request.leftOut === 0 ? [] : [leftOut[locale](request.leftOut)]),
  ].join("\n");
}

/** Returns whom a refused person should ask, in mrkdwn: the configured contact, or else the first admin who is a person. */
export function chooseContact(settings: {
  contact?: string | undefined;
  admins: readonly ({ user: string } | { group: string })[];
}): string | undefined {
  const [admin] = settings.admins.flatMap((one) => ("user" in one ? [one.user] : []));
  return settings.contact ?? (admin === undefined ? undefined : `<@${admin}>`);
}

/**
 * Returns the text of any outcome except an answer, in mrkdwn and without the reference. Without an outcome it is an internal failure.
 * Only the private refusal names `contact`, because a mention in the thread would notify that person.
 */
export function createOutcomeText(request: {
  task: Pick<Task, "receivedAtMs" | "cancelReason"> & { message?: Pick<Task["message"], "about"> };
  outcome: Exclude<TaskOutcome, { type: "answer" }> | undefined;
  locale: Locale;
  contact: string | undefined;
}): string {
  const { task, outcome, locale, contact } = request;
  if (outcome?.type === "canceling") return canceling[locale](outcome.count);
  if (outcome?.type === "help") return outcome.text;
  if (outcome === undefined)
    return joinSentences({
      notice: failureText({ reason: "internal", lost: false, locale }),
      locale,
    });
  const quote = outcome.type === "failed" ? quoteExplanation(outcome.explanation ?? "") : "";
  if (outcome.type === "failed" && quote !== "") {
    return `${failureText({ ...outcome, locale }).happened}${locale === "ja" ? "" : " "}${agentSays[locale]}\n${quote}`;
  }
  if (outcome.type === "unreadable" && !outcome.files && task.message?.about !== undefined) {
    return joinSentences({ notice: unreadableMessage[locale], locale });
  }
  const notice =
    outcome.type === "failed"
      ? failedText({ task, outcome, locale })
      : otherOutcomeText({ outcome, locale, contact, nowMs: task.receivedAtMs });
  return joinSentences({ notice, locale });
}

function failedText(request: {
  task: Pick<Task, "cancelReason">;
  outcome: Extract<TaskOutcome, { type: "failed" }>;
  locale: Locale;
}): Notice {
  const { task, outcome, locale } = request;
  const isUnconfirmed = outcome.reason === "ambiguous" && isCanceled({ ...task, outcome });
  if (outcome.unanswerable) return unanswerableText[locale];
  return isUnconfirmed ? unconfirmedCancelText(locale) : failureText({ ...outcome, locale });
}

const unanswerableText: Record<Locale, Notice> = {
  en: {
    happened: "The agent asked a question that nobody here can answer, so I stopped it.",
    todo: "Tell your admin and give them the reference below.",
  },
  ja: {
    happened: "エージェントの質問に回答できる人がいないため、処理を止めました。",
    todo: "下のお問い合わせ番号を管理者にお伝えください。",
  },
};

const maxExplanationLength = 1000;

const agentSays: Record<Locale, string> = { en: "It says:", ja: "エージェントからの説明：" };

/** Quotes the agent in one line, literally and cut, so that it notifies nobody and hides no link. Returns "" if nothing of it is visible. */
function quoteExplanation(explanation: string): string {
  const line = shortenWithLinks({ text: explanation, maxLength: maxExplanationLength });
  return isVisible(line) ? literalMrkdwn`> ${line}` : "";
}

function joinSentences({
  notice: { happened, todo },
  locale,
}: {
  notice: Notice;
  locale: Locale;
}): string {
  return `${happened}${locale === "ja" ? "" : " "}${todo}`;
}

type OtherOutcome = Exclude<TaskOutcome, { type: "answer" | "failed" | "canceling" | "help" }>;
/** `contact` is mrkdwn from the configuration. `nowMs` is when the message arrived, so that every try shows the same text. */
type About = { contact: string | undefined; nowMs: number };

function otherOutcomeText({
  outcome,
  locale,
  ...about
}: About & { outcome: OtherOutcome; locale: Locale }): Notice {
  switch (outcome.type) {
    case "refused":
      return (outcome.external ? refusedExternal : refusalNotices)[locale](about);
    case "limited":
      return limitNotices[locale]({ ...outcome, ...about });
    case "file_refused":
      return fileRefusalText({ outcome, locale });
    case "unreadable":
      return fixedNotices[outcome.files ? "files_gone" : "unreadable"][locale];
    case "too_old":
    case "unanswered":
    case "not_yours":
      return fixedNotices[outcome.type][locale];
  }
}

/** The message that a person chose for the shortcut. */
const unreadableMessage: Record<Locale, Notice> = {
  en: {
    happened: "I couldn't read that message. It may have been deleted.",
    todo: "Ask me in a new message.",
  },
  ja: {
    happened: "メッセージを読み込めませんでした。削除された可能性があります。",
    todo: "新しいメッセージでご依頼ください。",
  },
};

type Fixed = "too_old" | "unreadable" | "files_gone" | "unanswered" | "not_yours";

const fixedNotices: Record<Fixed, Record<Locale, Notice>> = {
  too_old: {
    en: {
      happened: "I got your message more than a day late, so I didn't start it.",
      todo: "Ask again if you still need it.",
    },
    ja: {
      happened: "メッセージが1日以上遅れて届いたため、実行しませんでした。",
      todo: "まだ必要な場合は、もう一度ご依頼ください。",
    },
  },
  unreadable: {
    en: {
      happened: "I couldn't find the original message to retry.",
      todo: "Ask again in a new message.",
    },
    ja: {
      happened: "元のメッセージが見つからないため、再実行できませんでした。",
      todo: "新しいメッセージでご依頼ください。",
    },
  },
  files_gone: {
    en: {
      happened:
        "The files in the original message are no longer available, so I couldn't try again.",
      todo: "Upload them again in a new message.",
    },
    ja: {
      happened: "元のメッセージのファイルが見つからないため、再実行できませんでした。",
      todo: "ファイルを添付し直して、新しいメッセージでご依頼ください。",
    },
  },
  unanswered: {
    en: {
      happened: "Nobody answered the question in time, so I stopped.",
      todo: "Ask again when you're ready.",
    },
    ja: {
      happened: "期限までに質問への回答がなかったため、終了しました。",
      todo: "回答できるときに、もう一度ご依頼ください。",
    },
  },
  not_yours: {
    en: {
      happened: "I'm waiting for someone else to answer the question above.",
      todo: "To ask for something new, start another thread.",
    },
    ja: {
      happened: "上の質問について、ほかの方の回答を待っています。",
      todo: "別の依頼は、新しいスレッドでお送りください。",
    },
  },
};

const refusalNotices: Record<Locale, (about: About) => Notice> = {
  en: ({ contact = "your admin" }) => ({
    happened: "You don't have access to me here yet.",
    todo: `Ask ${contact} to add you.`,
  }),
  ja: ({ contact }) => ({
    happened: "こちらでの利用が許可されていません。",
    todo: `${contact === undefined ? "管理者" : `${contact} `}に許可を依頼してください。`,
  }),
};

const refusedExternal: Record<Locale, (about: About) => Notice> = {
  en: ({ contact = "your admin" }) => ({
    happened: "I can't help you here, because people from other organizations are in this channel.",
    todo: `Ask ${contact} if you need me here.`,
  }),
  ja: ({ contact }) => ({
    happened: "このチャンネルには社外のメンバーがいるため、ここでは依頼をお受けできません。",
    todo: `必要な場合は、${contact === undefined ? "管理者" : `${contact} `}にご相談ください。`,
  }),
};

/** Says that the person may not ask here, and whom to ask. */
export function refusedText({
  locale,
  contact,
}: {
  locale: Locale;
  contact: string | undefined;
}): string {
  return joinSentences({ notice: refusalNotices[locale]({ contact, nowMs: 0 }), locale });
}

type Limited = Pick<About, "nowMs"> & OverQuota;

/** Says that there is no room for another task, and when there will be. */
export function limitedText({ locale, ...about }: Limited & { locale: Locale }): string {
  return joinSentences({ notice: limitNotices[locale](about), locale });
}

const limitNotices: Record<Locale, (about: Limited) => Notice> = {
  en: ({ by, retryAtMs, nowMs }) =>
    retryAtMs === undefined
      ? {
          happened:
            by === "user"
              ? "You've reached your limit of tasks in progress."
              : "This channel has reached its limit of tasks in progress.",
          todo: "Ask again when one of them is done.",
        }
      : {
          happened:
            by === "user"
              ? "You've reached your limit for now."
              : "This channel has reached its limit for now.",
          todo: `Try again in ${spanText({ spanMs: retryAtMs - nowMs, locale: "en" })} (${slackDate({ atMs: retryAtMs, locale: "en" })}).`,
        },
  ja: ({ by, retryAtMs, nowMs }) =>
    retryAtMs === undefined
      ? {
          happened: `${by === "user" ? "" : "このチャンネルで"}同時に依頼できる件数の上限に達しています。`,
          todo: "進行中の依頼が終わってから、もう一度お試しください。",
        }
      : {
          happened: `${by === "user" ? "" : "このチャンネルの"}依頼件数の上限に達しています。`,
          todo: `${spanText({ spanMs: retryAtMs - nowMs, locale: "ja" })}後（${slackDate({ atMs: retryAtMs, locale: "ja" })}）に、もう一度お試しください。`,
        },
};
