/** Why a file of a message cannot be sent to the agent, and what to do, in English and Japanese. */
import type { Locale, TaskOutcome } from "../../task/task.ts";
import { escapeMrkdwn } from "../markdown/characters.ts";
import { shorten } from "./blocks.ts";
import type { Notice } from "./failure-text.ts";

type FileText = Record<Locale, (file: { name: string; most: number | undefined }) => Notice>;

type FileRefusal = Extract<TaskOutcome, { type: "file_refused" }>;

export function fileRefusalText({
  outcome,
  locale,
}: {
  outcome: FileRefusal;
  locale: Locale;
}): Notice {
  const { why, detail, name, most } = outcome;
  return fileRefused[detail ?? why][locale]({ name: formatFileName(name), most });
}

const fileRefused: Record<FileRefusal["why"] | NonNullable<FileRefusal["detail"]>, FileText> = {
  too_large: {
    en: ({ name, most }) => ({
      happened: `${name} is too large.${most === undefined ? "" : ` The limit is ${formatSize(most)}.`}`,
      todo: "Send a smaller file, or only the part that matters.",
    }),
    ja: ({ name, most }) => ({
      happened: `${name} はサイズが大きすぎます${most === undefined ? "" : `（上限は${formatSize(most)}）`}。`,
      todo: "ファイルを小さくするか、必要な部分だけをお送りください。",
    }),
  },
  too_many: {
    en: ({ most }) =>
      most === 0
        ? {
            happened: "I can't take files here.",
            todo: "Put what matters in your message instead.",
          }
        : {
            happened: `That's too many files.${most === undefined ? "" : ` I can take up to ${most === 1 ? "1 file" : `${most} files`} at once.`}`,
            todo: "Send fewer files, or split them across several messages.",
          },
    ja: ({ most }) =>
      most === 0
        ? {
            happened: "ここではファイルを受け取れません。",
            todo: "必要な内容をメッセージにお書きください。",
          }
        : {
            happened: `ファイルが多すぎます${most === undefined ? "" : `（一度に${most}件まで）`}。`,
            todo: "ファイルを減らすか、メッセージを分けてお送りください。",
          },
  },
  hidden: {
    en: ({ name }) => ({
      happened: `I can't open this file: ${name}. Slack doesn't let me read it.`,
      todo: "Copy what matters into your message.",
    }),
    ja: ({ name }) => ({
      happened: `${name} を開けません。Slackが読み取りを許可していません。`,
      todo: "必要な内容をメッセージにコピーしてお送りください。",
    }),
  },
  canvas: {
    en: () => ({ happened: "I can't read canvases.", todo: "Copy the text into your message." }),
    ja: () => ({
      happened: "canvasは読み取れません。",
      todo: "内容をメッセージに貼り付けてお送りください。",
    }),
  },
  list: {
    en: () => ({ happened: "I can't read lists.", todo: "Copy the text into your message." }),
    ja: () => ({
      happened: "リストは読み取れません。",
      todo: "内容をメッセージに貼り付けてお送りください。",
    }),
  },
  not_to_be_had: {
    en: ({ name }) => ({
      happened: `I couldn't get ${name} from Slack.`,
      todo: "Upload it again in a new message.",
    }),
    ja: ({ name }) => ({
      happened: `${name} をSlackから取得できませんでした。`,
      todo: "新しいメッセージで、もう一度アップロードしてください。",
    }),
  },
};

/** Quotes, escapes and shortens a file name for use in a sentence. */
export function formatFileName(name: string): string {
  return `\`${escapeMrkdwn(shorten({ text: name, maxLength: 100 }).replaceAll("`", "'"))}\``;
}

/** Formats a size and rounds down, so that the text never promises more than the limit. */
function formatSize(bytes: number): string {
  const mega = 1024 * 1024;
  if (bytes >= mega) return `${Math.floor((bytes / mega) * 10) / 10} MB`;
  return bytes >= 1024 ? `${Math.floor(bytes / 1024)} KB` : `${bytes} bytes`;
}
