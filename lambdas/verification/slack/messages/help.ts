/** The answer to a message that is nothing but `help`: five lines in the thread. */
import type { Locale } from "../../task/task.ts";
import { literalMrkdwn } from "../markdown/literal.ts";
import { shorten } from "./blocks.ts";
import { askingText, descriptionText, type Overview, quotaText, routeLines } from "./overview.ts";

/** A thread wants few words. The App Home has the rest. */
const maxRoutes = 3;
const maxChannels = 3;
const maxPromptLength = 100;

/** In mrkdwn. It mentions no person and no group, because that would notify them. */
export function helpText({ overview, locale }: { overview: Overview; locale: Locale }): string {
  const [prompt] = overview.prompts;
  const example =
    prompt && examples[locale](shorten({ text: prompt.message, maxLength: maxPromptLength }));
  const routes = routeLines(overview, locale).slice(0, maxRoutes);
  const space = locale === "ja" ? "" : " ";
  const lines: Record<keyof typeof labels, string> = {
    about: descriptionText(overview, locale),
    asking: [
      askingText(overview, locale),
      ...(routes.length > 0 ? routes : example ? [example] : []),
    ].join(space),
    people: peopleText(overview, locale),
    tasks: tasksText[locale](overview.tasks.length, overview.hasMoreTasks),
    quota: quotaText(overview, locale),
  };
  return Object.entries(lines)
    .map(([line, text]) => `*${labels[line as keyof typeof labels][locale]}* ${text}`)
    .join("\n");
}

const labels = {
  about: { en: "What I do:", ja: "できること：" },
  asking: { en: "How to ask:", ja: "使い方：" },
  people: { en: "Who can ask:", ja: "利用できる人：" },
  tasks: { en: "Your tasks:", ja: "進行中：" },
  quota: { en: "Your limit:", ja: "利用上限：" },
} as const satisfies Record<string, Record<Locale, string>>;

const examples: Record<Locale, (prompt: string) => string> = {
  en: (prompt) => literalMrkdwn`For example: _${prompt}_`,
  ja: (prompt) => literalMrkdwn`例：「${prompt}」`,
};

const tasksText: Record<Locale, (count: number, hasMore: boolean) => string> = {
  en: (count, hasMore) =>
    count === 0
      ? "You have none in progress."
      : `${count}${hasMore ? " or more" : ""} in progress. See or cancel ${count === 1 && !hasMore ? "it" : "them"} in my Home tab.`,
  ja: (count, hasMore) =>
    count === 0
      ? "進行中の依頼はありません。"
      : `${count}件${hasMore ? "以上" : ""}あります。ホームタブで確認・キャンセルできます。`,
};

const everyone: Record<Locale, string> = {
  en: "everyone in this workspace",
  ja: "このワークスペースの全員",
};
const everyoneIn: Record<Locale, (channels: string) => string> = {
  en: (channels) => `everyone in ${channels}`,
  ja: (channels) => `${channels} の全員`,
};
const otherChannels: Record<Locale, string> = {
  en: "everyone in some other channels",
  ja: "ほかのいくつかのチャンネルの全員",
};
const addedPeopleText: Record<Locale, string> = {
  en: "people an admin has added",
  ja: "管理者が追加した人",
};
const allowedListText: Record<Locale, (who: string) => string> = {
  en: (who) => `${who.charAt(0).toUpperCase()}${who.slice(1)}. My Home tab has the list.`,
  ja: (who) => `${who}。一覧はホームタブで確認できます。`,
};

function peopleText({ rules }: Overview, locale: Locale): string {
  const people = rules.filter(({ bot }) => bot === undefined);
  const isNamed = people.some(({ user, group }) => (user ?? group) !== undefined);
  const open = people.filter(({ user, group }) => (user ?? group) === undefined);
  const isEveryone = open.some(({ channel }) => channel === undefined);
  const channels = [
    ...new Set(open.flatMap(({ channel }) => (channel === undefined ? [] : [`<#${channel}>`]))),
  ];
  const parts = isEveryone
    ? [everyone[locale]]
    : [
        ...(channels.length === 0
          ? []
          : [
              everyoneIn[locale](
                channels.slice(0, maxChannels).join(locale === "ja" ? "、" : ", "),
              ),
            ]),
        ...(channels.length > maxChannels ? [otherChannels[locale]] : []),
        ...(isNamed ? [addedPeopleText[locale]] : []),
      ];
  if (parts.length === 0) return allowedListText[locale](addedPeopleText[locale]);
  return allowedListText[locale](parts.join(locale === "ja" ? "、" : ", and "));
}
