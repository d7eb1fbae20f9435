/** What a user reads when a task came to something else than an answer or a failure of the agent. Pure. */
import type { Outcome } from "../task/task.ts";
import { escapeMrkdwn } from "./escape.ts";
import type { Locale, Words } from "./failure-words.ts";
import { shorten } from "./shorten.ts";
import { slackDate, spanWords } from "./slack-date.ts";

type OtherOutcome = Exclude<Outcome, { type: "answer" | "failed" | "canceling" }>;
type Asked = { team: string; channel: string; user: string };
/** `contact` is mrkdwn of the configuration: whom to ask. `nowMs`: when the task came, so that repeated words stay the same. */
type About = { asked: Asked; contact: string | undefined; nowMs: number };

/** An outcome without words in both languages does not compile. */
export function outcomeWords({ outcome, locale, ...about }: About & { outcome: OtherOutcome; locale: Locale }): Words {
  switch (outcome.type) {
    case "refused":
      return refused[locale](about);
    case "limited":
      return limited[locale]({ ...outcome, ...about });
    case "file_refused":
      return fileRefused[outcome.why][locale]({ name: fileName(outcome.name), most: outcome.most });
    case "too_old":
    case "unreadable":
    case "unanswered":
    case "not_yours":
      return fixed[outcome.type][locale];
  }
}

const fixed: Record<"too_old" | "unreadable" | "unanswered" | "not_yours", Record<Locale, Words>> = {
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

const refused: Record<Locale, (about: About) => Words> = {
  en: ({ asked, contact }) => ({
    happened: "You are not on the list of those who may ask me here.",
    todo: `Please ask ${contact ?? "your administrator"} to add you with \`${addCommand(asked)}\`.`,
  }),
  ja: ({ asked, contact }) => ({
    happened: "ここで私に依頼できる人のリストに、あなたは登録されていません。",
    todo: `${contact ?? "管理者"}に、\`${addCommand(asked)}\` による登録を依頼してください。`,
  }),
};

function addCommand({ team, channel, user }: Asked): string {
  return escapeMrkdwn(`npx sekisho allow add --team ${team} --channel ${channel} --user ${user}`);
}

type Limited = About & { by: "user" | "channel"; retryAtMs?: number | undefined };

const limited: Record<Locale, (about: Limited) => Words> = {
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
          todo: `Please ask again in ${spanWords({ spanMs: retryAtMs - nowMs, locale: "en" })} (${slackDate({ atMs: retryAtMs, locale: "en" })}).`,
        },
  ja: ({ by, retryAtMs, nowMs }) =>
    retryAtMs === undefined
      ? {
          happened: `${by === "user" ? "あなたが" : "このチャンネルで"}同時に依頼できる件数に達しています。`,
          todo: "実行中のものが終わってから、もう一度お願いしてください。",
        }
      : {
          happened: `${by === "user" ? "あなたが" : "このチャンネルで"}今の時間帯に依頼できる件数に達しています。`,
          todo: `${spanWords({ spanMs: retryAtMs - nowMs, locale: "ja" })}後（${slackDate({ atMs: retryAtMs, locale: "ja" })}）に、もう一度お願いしてください。`,
        },
};

type FileWords = Record<Locale, (file: { name: string; most: number | undefined }) => Words>;

const fileRefused: Record<Extract<Outcome, { type: "file_refused" }>["why"], FileWords> = {
  too_large: {
    en: ({ name, most }) => ({
      happened: `The file ${name} is too large for me${most === undefined ? "" : `: I take files of at most ${megabytes(most)}`}.`,
      todo: "Please send a smaller one, or only the part that matters.",
    }),
    ja: ({ name, most }) => ({
      happened: `ファイル ${name} は大きすぎます${most === undefined ? "" : `（上限は${megabytes(most)}）`}。`,
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

/** As part of a sentence: quoted, escaped and not too long. */
export function fileName(name: string): string {
  return `\`${escapeMrkdwn(shorten({ text: name, maxLength: 100 }).replaceAll("`", "'"))}\``;
}

/** As people say it, and never more than it is. */
function megabytes(bytes: number): string {
  const mega = 1024 * 1024;
  if (bytes >= mega) return `${Math.floor((bytes / mega) * 10) / 10} MB`;
  return bytes >= 1024 ? `${Math.floor(bytes / 1024)} KB` : `${bytes} bytes`;
}
