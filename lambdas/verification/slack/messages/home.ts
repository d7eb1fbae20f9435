/** The App Home: what the bot can do, who may ask, the person's own tasks with a button to cancel each, and what is left of the quota. */
import type { AllowlistRule } from "@sekisho/config/schema.ts";
import type { Locale } from "../../task/task.ts";
import type { SlackBlock } from "../api/slack.ts";
import { literalMrkdwn } from "../markdown/literal.ts";
import { buttonElement, context, section, shorten, shortenWithLinks, slackDate } from "./blocks.ts";
import {
  askingText,
  descriptionText,
  noAccessText,
  type Overview,
  type OwnTask,
  quotaText,
  routeLines,
} from "./overview.ts";

/** Slack allows 100 blocks. These limits keep the view far below that. */
export const maxHomeTasks = 10;
const maxLines = 20;
const maxTaskLength = 150;

/** `nowMs` is shown, because the view is not refreshed by itself. */
export function homeBlocks({
  overview,
  locale,
  nowMs,
}: {
  overview: Overview;
  locale: Locale;
  nowMs: number;
}): SlackBlock[] {
  const { mayAsk, tasks } = overview;
  const own = tasks.length === 0 && !mayAsk ? [] : taskBlocks(overview, locale);
  const about = [header(titles.about[locale]), section(descriptionText(overview, locale))];
  const shownAtContext = context(shownAt[locale](slackDate({ atMs: nowMs, locale })));
  if (!mayAsk) return [...about, section(noAccessText(overview, locale)), ...own, shownAtContext];
  const lines = routeLines(overview, locale);
  return [
    ...about,
    section([askingText(overview, locale), ...limitLines(lines, locale).map(bullet)].join("\n")),
    ...(overview.prompts.length === 0 ? [] : [section(promptsText(overview, locale))]),
    header(titles.people[locale]),
    section(limitLines(peopleLines(overview, locale), locale).map(bullet).join("\n")),
    ...own,
    header(titles.quota[locale]),
    section(quotaText(overview, locale)),
    shownAtContext,
  ];
}

const titles: Record<"about" | "people" | "tasks" | "quota", Record<Locale, string>> = {
  about: { en: "What I can do", ja: "できること" },
  people: { en: "Who can ask", ja: "利用できる人" },
  tasks: { en: "Your tasks in progress", ja: "進行中の依頼" },
  quota: { en: "Your limit", ja: "利用上限" },
};

const shownAt: Record<Locale, (date: string) => string> = {
  en: (date) => `Updated ${date}. Reopen this tab to refresh it.`,
  ja: (date) => `${date} 時点の内容です。このタブを開き直すと更新されます。`,
};

function header(text: string): SlackBlock {
  return { type: "header", text: { type: "plain_text", text, emoji: true } };
}

function bullet(line: string): string {
  return `• ${line}`;
}

const more: Record<Locale, (count: number) => string> = {
  en: (count) => `and ${count} more`,
  ja: (count) => `ほか${count}件`,
};

function limitLines(lines: readonly string[], locale: Locale): string[] {
  if (lines.length <= maxLines) return [...lines];
  return [...lines.slice(0, maxLines), more[locale](lines.length - maxLines)];
}

const tryThese: Record<Locale, string> = { en: "*Try one of these:*", ja: "*依頼の例：*" };
const maxPromptLength = 200;

function promptsText({ prompts }: Overview, locale: Locale): string {
  const lines = prompts.map(({ title, message }) => {
    const [shortTitle = "", shortMessage = ""] = [title, message].map((text) =>
      shorten({ text, maxLength: maxPromptLength }),
    );
    return bullet(
      locale === "ja"
        ? literalMrkdwn`${shortTitle}：「${shortMessage}」`
        : literalMrkdwn`${shortTitle}: _${shortMessage}_`,
    );
  });
  return [tryThese[locale], ...lines].join("\n");
}

type RuleParts = { who: string; where: string; external: AllowlistRule["external"] };

const externalPhrases: Record<NonNullable<AllowlistRule["external"]>, Record<Locale, string>> = {
  channels: {
    en: ", including in channels shared with other organizations",
    ja: "社外のメンバーがいるチャンネルも可",
  },
  people: {
    en: ", and people from other organizations in shared channels",
    ja: "社外のメンバーがいるチャンネルでは、社外のメンバーも可",
  },
};

const rulePhrases: Record<Locale, (rule: RuleParts) => string> = {
  en: ({ who, where, external }) => {
    const people = who === "" ? "Everyone" : who;
    const places = where === "" ? (who === "" ? " in this workspace" : "") : ` in ${where}`;
    return `${people}${places}${external === undefined ? "" : externalPhrases[external].en}`;
  },
  ja: ({ who, where, external }) => {
    const people =
      who === "" ? (where === "" ? "このワークスペースの全員" : `${where} の全員`) : who;
    const limits = [
      ...(who === "" || where === "" ? [] : [`${where} のみ`]),
      ...(external === undefined ? [] : [externalPhrases[external].ja]),
    ];
    return limits.length === 0 ? people : `${people}（${limits.join("、")}）`;
  },
};

/** One phrase per rule, without its label, which is a note among admins. Rules for other bots name no people. */
function peopleLines({ rules }: Overview, locale: Locale): string[] {
  return [
    ...new Set(rules.flatMap((rule) => (rule.bot === undefined ? [rulePhrase(rule, locale)] : []))),
  ];
}

function rulePhrase({ user, group, channel, external }: AllowlistRule, locale: Locale): string {
  const where = channel === undefined ? "" : `<#${channel}>`;
  return rulePhrases[locale]({ who: peoplePhrase({ user, group }, locale), where, external });
}

const memberPhrases: Record<Locale, (user: string, group: string) => string> = {
  en: (user, group) => `${user} while in ${group}`,
  ja: (user, group) => `${group} に所属する ${user}`,
};

/** A rule with both matches the user only as a member of the group. */
function peoplePhrase(
  { user, group }: Pick<AllowlistRule, "user" | "group">,
  locale: Locale,
): string {
  const [person, members] = [user && `<@${user}>`, group && `<!subteam^${group}>`];
  return person && members ? memberPhrases[locale](person, members) : (person ?? members ?? "");
}

const nothing: Record<Locale, string> = {
  en: "You have no tasks in progress.",
  ja: "進行中の依頼はありません。",
};
const moreTasks: Record<Locale, string> = {
  en: "There are more. These are your newest tasks.",
  ja: "ほかにもあります。新しいものだけを表示しています。",
};

function taskBlocks({ tasks, hasMoreTasks }: Overview, locale: Locale): SlackBlock[] {
  const shownTasks = tasks.slice(0, maxHomeTasks);
  return [
    header(titles.tasks[locale]),
    ...(shownTasks.length === 0
      ? [section(nothing[locale])]
      : shownTasks.map((task) => taskBlock(task, locale))),
    ...(hasMoreTasks || tasks.length > maxHomeTasks ? [context(moreTasks[locale])] : []),
  ];
}

const activities: Record<OwnTask["activity"], Record<Locale, string>> = {
  queued: { en: "Waiting for its turn", ja: "順番待ち" },
  working: { en: "Working on it", ja: "対応中" },
  asking: { en: "Waiting for an answer in the thread", ja: "スレッドで回答待ち" },
  canceling: { en: "Canceling", ja: "キャンセル中" },
};

const cancelLabel: Record<Locale, string> = { en: "Cancel", ja: "キャンセル" };
const noText: Record<Locale, string> = { en: "(no text)", ja: "（テキストなし）" };
const directMessage: Record<Locale, string> = { en: "direct message", ja: "ダイレクトメッセージ" };

function taskBlock(
  { requestId, text, channel, askedAtMs, activity }: OwnTask,
  locale: Locale,
): SlackBlock {
  const line = shortenWithLinks({ text, maxLength: maxTaskLength }) || noText[locale];
  const where = channel.startsWith("D") ? directMessage[locale] : `<#${channel}>`;
  const when = slackDate({ atMs: askedAtMs, locale });
  const lines = `${literalMrkdwn`*${line}*`}\n${activities[activity][locale]} · ${where} · ${when}`;
  if (activity === "canceling") return section(lines);
  const button = { requestId, button: { type: "cancel" }, label: cancelLabel[locale] } as const;
  return { ...section(lines), accessory: buttonElement(button) };
}
