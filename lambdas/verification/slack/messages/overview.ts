/** Describes the bot to one person: the facts, and the sentences that the App Home and the help share, in English and Japanese. */
import type { AllowlistRule } from "@sekisho/config/schema.ts";
import type { Locale } from "../../task/task.ts";
import { literalMrkdwn } from "../markdown/literal.ts";
import { slackDate, spanText } from "./blocks.ts";

/** A task of the person that is under way. */
export type OwnTask = {
  requestId: string;
  /** What the person wrote, in plain text. */
  text: string;
  channel: string;
  askedAtMs: number;
  activity: "queued" | "working" | "asking" | "canceling";
};

/** The rest of a person's quota. Each part is absent if the configuration does not limit it. */
export type RemainingQuota = {
  inPeriod?:
    | {
        left: number;
        of: number;
        spanMs: number /** Present if nothing is left. */;
        freeAtMs?: number;
      }
    | undefined;
  atOnce?: { left: number; of: number } | undefined;
};

export type OverviewRoute = {
  word?: string | undefined;
  channel?: string | undefined;
  destination: string;
};

export type Overview = {
  /** The person may ask somewhere. */
  mayAsk: boolean;
  /** In mrkdwn: whom a person asks who may not. */
  contact: string | undefined;
  description: string | undefined;
  command: string | undefined;
  prompts: readonly { title: string; message: string }[];
  /** The routes that the person may use. */
  routes: readonly OverviewRoute[];
  /** The rules of the person's workspace. */
  rules: readonly AllowlistRule[];
  /** Newest first. */
  tasks: readonly OwnTask[];
  /** There are more than `tasks`. */
  hasMoreTasks: boolean;
  quota: RemainingQuota;
};

const standardDescription: Record<Locale, string> = {
  en: "I take your request to an agent and post its answer in the thread.",
  ja: "依頼をエージェントに伝え、回答をスレッドに投稿します。",
};

export function descriptionText({ description }: Overview, locale: Locale): string {
  return description === undefined ? standardDescription[locale] : literalMrkdwn`${description}`;
}

const asking: Record<Locale, (command: string | undefined) => string> = {
  en: (command) =>
    `Mention me in a channel${command === undefined ? "" : `, use \`${command}\`,`} or send me a direct message. To follow up, reply in the thread.`,
  ja: (command) =>
    `チャンネルでのメンション、${command === undefined ? "またはダイレクトメッセージ" : `ダイレクトメッセージ、または \`${command}\` コマンド`}でご依頼ください。続けて依頼するときは、スレッドで返信してください。`,
};

export function askingText({ command }: Overview, locale: Locale): string {
  return asking[locale](command);
}

const routeSentences: Record<
  Locale,
  (route: { word: string; channel: string; agent: string }) => string
> = {
  en: ({ word, channel, agent }) => {
    if (word !== "")
      return `${channel && `In ${channel}, `}${channel ? "start" : "Start"} your message with ${word} to ask ${agent}.`;
    return channel === ""
      ? `Everything else goes to ${agent}.`
      : `In ${channel}, messages go to ${agent}.`;
  },
  ja: ({ word, channel, agent }) => {
    if (word !== "")
      return `${channel && `${channel} では `}${word} で始まるメッセージには ${agent} が対応します。`;
    return channel === ""
      ? `それ以外には ${agent} が対応します。`
      : `${channel} では ${agent} が対応します。`;
  },
};

/** One sentence per route. None if the person has no choice. */
export function routeLines({ routes }: Overview, locale: Locale): string[] {
  if (routes.length < 2 && routes[0]?.word === undefined) return [];
  return routes.map(({ word, channel, destination }) =>
    routeSentences[locale]({
      word: word === undefined ? "" : `\`${word}:\``,
      channel: channel === undefined ? "" : `<#${channel}>`,
      agent: literalMrkdwn`*${destination}*`,
    }),
  );
}

const remainingText: Record<Locale, (quota: NonNullable<RemainingQuota["inPeriod"]>) => string> = {
  en: ({ left: count, of, spanMs, freeAtMs }) =>
    count > 0 || freeAtMs === undefined
      ? `You can start up to ${of} ${of === 1 ? "task" : "tasks"} in any ${spanText({ spanMs, locale: "en" })}. You have ${count} left.`
      : `You've reached your limit of ${of} ${of === 1 ? "task" : "tasks"} in ${spanText({ spanMs, locale: "en" })}. You can ask again ${slackDate({ atMs: freeAtMs, locale: "en" })}.`,
  ja: ({ left: count, of, spanMs, freeAtMs }) =>
    count > 0 || freeAtMs === undefined
      ? `直近${spanText({ spanMs, locale: "ja" })}で${of}件まで依頼できます（残り${count}件）。`
      : `上限の${of}件に達しています。${slackDate({ atMs: freeAtMs, locale: "ja" })} 以降に依頼できます。`,
};

const atOnceLeft: Record<Locale, (quota: NonNullable<RemainingQuota["atOnce"]>) => string> = {
  en: ({ left: count, of }) =>
    `You can have ${of} ${of === 1 ? "task" : "tasks"} in progress at once, and you have ${of - count || "none"} now.`,
  ja: ({ left: count, of }) => `同時に依頼できるのは${of}件までです（残り${count}件）。`,
};

const noQuota: Record<Locale, string> = { en: "There's no limit.", ja: "上限はありません。" };

export function quotaText({ quota: { inPeriod, atOnce } }: Overview, locale: Locale): string {
  if (inPeriod === undefined && atOnce === undefined) return noQuota[locale];
  return [
    ...(inPeriod === undefined ? [] : [remainingText[locale](inPeriod)]),
    ...(atOnce === undefined ? [] : [atOnceLeft[locale](atOnce)]),
  ].join(locale === "ja" ? "" : " ");
}

const noAccess: Record<Locale, (contact: string | undefined) => string> = {
  en: (contact = "your admin") => `You don't have access to me yet. Ask ${contact} to add you.`,
  ja: (contact) =>
    `まだ利用が許可されていません。${contact === undefined ? "管理者" : `${contact} `}に許可を依頼してください。`,
};

export function noAccessText({ contact }: Overview, locale: Locale): string {
  return noAccess[locale](contact);
}
