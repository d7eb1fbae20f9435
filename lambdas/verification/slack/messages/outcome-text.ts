/** The texts for every outcome except the answer, in English and Japanese. They never show a code, a URL or an exception. */
import type { Locale, Task, TaskOutcome } from "../../task/task.ts";
import { escapeMrkdwn } from "../markdown/characters.ts";
import { isVisible } from "../markdown/visible-text.ts";
import { shorten, slackDate, spanText } from "./blocks.ts";
import { failureText, type Notice } from "./failure-text.ts";

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

/** For an answer without text. `files` counts its attached files. */
export const emptyAnswerText: Record<Locale, (files: number) => string> = {
  en: (files) =>
    files === 0
      ? "The agent answered, but without any text."
      : `The agent answered with ${files === 1 ? "a file" : `${files} files`}.`,
  ja: (files) =>
    files === 0
      ? "エージェントから応答がありましたが、テキストが含まれていませんでした。"
      : `エージェントがファイル${files}件で回答しました。`,
};

const answerStart: Record<Locale, (name: string) => string> = {
  en: (name) => `_This is how the answer begins. All of it is attached as ${name}._`,
  ja: (name) => `_回答の冒頭です。全文は添付の ${name} をご覧ください。_`,
};

/** Shown below an answer that is cut. */
export const cutAnswerText: Record<Locale, string> = {
  en: "_The answer goes on, but it is too long to be posted here._",
  ja: "_回答には続きがありますが、長すぎるためここには投稿できません。_",
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

/** The first eight digits of the request id are enough to find the task in the logs. */
export function referenceText({ locale, requestId }: { locale: Locale; requestId: string }): string {
  return reference[locale](requestId.slice(0, 8));
}

/** Shown above the outcome of a retry. `retryOf` is the request id of the first task. */
export function retriedText({ locale, retryOf }: { locale: Locale; retryOf: string }): string {
  return retried[locale](retryOf.slice(0, 8));
}

export function continuedText({ locale, name }: { locale: Locale; name: string }): string {
  return answerStart[locale](formatFileName(name));
}

/** Shown in place of an answer that Slack refused at every try. */
export const undeliveredText: Record<Locale, string> = {
  en: "The agent has answered, but Slack did not accept the answer from me. Please give the reference below to your administrator, who can have it sent again.",
  ja: "エージェントは回答しましたが、Slackに投稿できませんでした。下の照会番号を管理者に伝えてください。管理者は回答を再送できます。",
};

/** Shown in an outdated message that Slack does not delete. */
export const replacedText: Record<Locale, string> = {
  en: "_My answer is in another message of this thread._",
  ja: "_回答はこのスレッドの別のメッセージにあります。_",
};

/** Returns "" if all files were attached. */
export function missingFilesText(request: { locale: Locale; failed: readonly string[]; leftOut: number }): string {
  const { locale, failed } = request;
  return [
    ...(failed.length === 0 ? [] : [notAttached[locale](failed.map(formatFileName))]),
    ...(request.leftOut === 0 ? [] : [leftOut[locale](request.leftOut)]),
  ].join("\n");
}

/** Returns the text of any outcome except an answer, in mrkdwn and without the reference. Without an outcome it is an internal failure. */
export function createOutcomeText(request: {
  task: Pick<Task, "message" | "receivedAtMs">;
  outcome: Exclude<TaskOutcome, { type: "answer" }> | undefined;
  locale: Locale;
  contact: string | undefined;
}): string {
  const { task, outcome, locale, contact } = request;
  if (outcome?.type === "canceling") return canceling[locale](outcome.count);
  if (outcome === undefined)
    return joinSentences({ notice: failureText({ reason: "internal", lost: false, locale }), locale });
  const quote = outcome.type === "failed" ? quoteExplanation(outcome.explanation ?? "") : "";
  if (outcome.type === "failed" && quote !== "") {
    return `${failureText({ ...outcome, locale }).happened}${locale === "ja" ? "" : " "}${agentSays[locale]}\n${quote}`;
  }
  const notice =
    outcome.type === "failed"
      ? failureText({ ...outcome, locale })
      : otherOutcomeText({ outcome, locale, asked: task.message, contact, nowMs: task.receivedAtMs });
  return joinSentences({ notice, locale });
}

const maxExplanationLength = 1000;

const agentSays: Record<Locale, string> = { en: "It says:", ja: "エージェントの説明：" };

/** Quotes the agent in one line, escaped and cut, so that it notifies nobody and hides no link. Returns "" if nothing of it is visible. */
function quoteExplanation(explanation: string): string {
  const line = shorten({ text: explanation, maxLength: maxExplanationLength });
  return isVisible(line) ? `> ${escapeMrkdwn(line)}` : "";
}

function joinSentences({ notice: { happened, todo }, locale }: { notice: Notice; locale: Locale }): string {
  return `${happened}${locale === "ja" ? "" : " "}${todo}`;
}

type OtherOutcome = Exclude<TaskOutcome, { type: "answer" | "failed" | "canceling" }>;
type Asked = Pick<Task["message"], "team" | "channel" | "user" | "external">;
/** `contact` is mrkdwn from the configuration. `nowMs` is when the message arrived, so that every try shows the same text. */
type About = { asked: Asked; contact: string | undefined; nowMs: number };

function otherOutcomeText({ outcome, locale, ...about }: About & { outcome: OtherOutcome; locale: Locale }): Notice {
  switch (outcome.type) {
    case "refused":
      return (outcome.external ? refusedExternal : refused)[locale](about);
    case "limited":
      return limited[locale]({ ...outcome, ...about });
    case "file_refused":
      return fileRefused[outcome.why][locale]({ name: formatFileName(outcome.name), most: outcome.most });
    case "too_old":
    case "unreadable":
    case "unanswered":
    case "not_yours":
      return fixed[outcome.type][locale];
  }
}

const fixed: Record<"too_old" | "unreadable" | "unanswered" | "not_yours", Record<Locale, Notice>> = {
  too_old: {
    en: {
      happened: "Your message reached me more than a day late, so I did not act on it.",
      todo: "Please ask again if you still need it.",
    },
    ja: {
      happened: "メッセージが届くまでに一日以上かかったため、実行しませんでした。",
      todo: "まだ必要でしたら、もう一度お願いしてください。",
    },
  },
  unreadable: {
    en: {
      happened: "I cannot read the message any more that I was to try again.",
      todo: "Please ask again in a new message.",
    },
    ja: {
      happened: "もう一度試すはずだったメッセージを読めませんでした。",
      todo: "新しいメッセージでもう一度お願いしてください。",
    },
  },
  unanswered: {
    en: {
      happened: "The agent's question was not answered in time, so I ended the task.",
      todo: "Please ask again when you can answer it.",
    },
    ja: {
      happened: "エージェントの質問に期限までに回答がなかったため、タスクを終了しました。",
      todo: "回答できるときに、もう一度お願いしてください。",
    },
  },
  not_yours: {
    en: {
      happened: "The agent is waiting for an answer to its question above, and somebody else is to give it.",
      todo: "Please wait until it is answered, or ask in a new thread.",
    },
    ja: {
      happened: "エージェントは上の質問への回答を待っていますが、回答できるのは別の方です。",
      todo: "回答されるまで待つか、新しいスレッドでお願いしてください。",
    },
  },
};

const refused: Record<Locale, (about: About) => Notice> = {
  en: ({ asked, contact }) => ({
    happened: "You are not on the list of those who may ask me here.",
    todo: `Please ask ${contact ?? "your administrator"} to add you with \`${addCommand(asked)}\`.`,
  }),
  ja: ({ asked, contact }) => ({
    happened: "ここで私に依頼できる人のリストに、あなたは登録されていません。",
    todo: `${contact ?? "管理者"}に、\`${addCommand(asked)}\` による登録を依頼してください。`,
  }),
};

const refusedExternal: Record<Locale, (about: About) => Notice> = {
  en: ({ contact }) => ({
    happened: "I do not take tasks from you here, because other organizations are in this channel.",
    todo: `Please ask ${contact ?? "your administrator"} if you need me here.`,
  }),
  ja: ({ contact }) => ({
    happened: "このチャンネルは他の組織と共有されているため、ここではご依頼をお受けできません。",
    todo: `ここで必要な場合は、${contact ?? "管理者"}に相談してください。`,
  }),
};

function addCommand({ team, channel, user, external }: Asked): string {
  const where = external === undefined ? "" : ` --external ${external}`;
  return escapeMrkdwn(`npx sekisho allow add --team ${team} --channel ${channel} --user ${user}${where}`);
}

type Limited = About & { by: "user" | "channel" | "bots"; retryAtMs?: number | undefined };

const limited: Record<Locale, (about: Limited) => Notice> = {
  en: ({ by, retryAtMs, nowMs }) =>
    retryAtMs === undefined
      ? {
          happened:
            by === "user"
              ? "You have as many tasks under way as you may at once."
              : "This channel has as many tasks under way as it may at once.",
          todo: "Please ask again when one of them is done.",
        }
      : {
          happened:
            by === "user"
              ? "You have asked for as much as you may for now."
              : "This channel has asked for as much as it may for now.",
          todo: `Please ask again in ${spanText({ spanMs: retryAtMs - nowMs, locale: "en" })} (${slackDate({ atMs: retryAtMs, locale: "en" })}).`,
        },
  ja: ({ by, retryAtMs, nowMs }) =>
    retryAtMs === undefined
      ? {
          happened: `${by === "user" ? "あなたが" : "このチャンネルで"}同時に依頼できる件数に達しています。`,
          todo: "実行中のものが終わってから、もう一度お願いしてください。",
        }
      : {
          happened: `${by === "user" ? "あなたが" : "このチャンネルで"}今の時間帯に依頼できる件数に達しています。`,
          todo: `${spanText({ spanMs: retryAtMs - nowMs, locale: "ja" })}後（${slackDate({ atMs: retryAtMs, locale: "ja" })}）に、もう一度お願いしてください。`,
        },
};

type FileText = Record<Locale, (file: { name: string; most: number | undefined }) => Notice>;

const fileRefused: Record<Extract<TaskOutcome, { type: "file_refused" }>["why"], FileText> = {
  too_large: {
    en: ({ name, most }) => ({
      happened: `The file ${name} is too large for me${most === undefined ? "" : `: I take files of at most ${formatSize(most)}`}.`,
      todo: "Please send a smaller one, or only the part that matters.",
    }),
    ja: ({ name, most }) => ({
      happened: `ファイル ${name} は大きすぎます${most === undefined ? "" : `（上限は${formatSize(most)}）`}。`,
      todo: "小さくするか、必要な部分だけを送ってください。",
    }),
  },
  too_many: {
    en: ({ most }) =>
      most === 0
        ? { happened: "I do not take files along here.", todo: "Please write in words what the agent should know." }
        : {
            happened: `Your message has too many files${most === undefined ? "" : `: I take at most ${most} at once`}.`,
            todo: "Please send fewer, or several messages.",
          },
    ja: ({ most }) =>
      most === 0
        ? { happened: "ここではファイルを受け取れません。", todo: "必要な内容を文章で書いてください。" }
        : {
            happened: `ファイルの数が多すぎます${most === undefined ? "" : `（一度に${most}件まで）`}。`,
            todo: "数を減らすか、メッセージを分けて送ってください。",
          },
  },
  not_to_be_had: {
    en: ({ name }) => ({
      happened: `I could not get the file ${name} from Slack.`,
      todo: "Please upload it here once more, and ask again.",
    }),
    ja: ({ name }) => ({
      happened: `ファイル ${name} をSlackから取得できませんでした。`,
      todo: "ここにもう一度アップロードして、お願いし直してください。",
    }),
  },
};

/** Quotes, escapes and shortens a file name for use in a sentence. */
function formatFileName(name: string): string {
  return `\`${escapeMrkdwn(shorten({ text: name, maxLength: 100 }).replaceAll("`", "'"))}\``;
}

/** Formats a size and rounds down, so that the text never promises more than the limit. */
function formatSize(bytes: number): string {
  const mega = 1024 * 1024;
  if (bytes >= mega) return `${Math.floor((bytes / mega) * 10) / 10} MB`;
  return bytes >= 1024 ? `${Math.floor(bytes / 1024)} KB` : `${bytes} bytes`;
}
