/** Says below a question who may answer it, and who has approved so far. */
import { isDecidedAlone, needsButtons } from "../../task/answer-rules.ts";
import type { AgentQuestion, Locale, Task } from "../../task/task.ts";
import { escapeMrkdwn } from "../markdown/characters.ts";
import { literalMrkdwn } from "../markdown/literal.ts";
import { removeEmpty } from "./blocks.ts";

type Rules = { task: Task; question: AgentQuestion; locale: Locale };

/** Names at most so many people of one option. More never have to agree. */
const maxNames = 10;
/** All lines of approvals together, so that they fit beside the prompt, its hints and the answer. */
const maxApprovalsLength = 1200;

/** In mrkdwn. Returns "" for a question without rules of its own. A group is mentioned, so that its members learn of the question. */
export function answerRulesText(
  { task, question, locale }: Rules,
  labelOf: (option: number) => string,
): string {
  const { answerBy, answerers, approvals, signIn } = question;
  if (signIn !== undefined || answerBy === undefined) return "";
  const asker = mention(task.message.user);
  const groups = [answerBy, answerers].flatMap((rule) =>
    typeof rule === "object" ? [`<!subteam^${escapeMrkdwn(rule.group)}>`] : [],
  );
  const isForAsker = answerBy === "asker" || answerers === "asker";
  const who = isForAsker
    ? onlyAsker[locale]({ asker, groups })
    : answerers === "not-asker"
      ? notAsker[locale]({ asker, groups })
      : groups.length > 0
        ? members[locale](groups)
        : anyone[locale];
  return removeEmpty([
    who,
    approvals === undefined ? "" : needed[locale](approvals.needed),
    approvals === undefined ? "" : aloneText({ question, locale }, labelOf),
  ]).join(locale === "ja" ? "" : " ");
}

/** Names at most so many options. */
const maxAlone = 3;

/** Which options one person alone may choose. */
function aloneText(
  { question, locale }: Omit<Rules, "task">,
  labelOf: (option: number) => string,
): string {
  const labels = question.options.flatMap((_, option) =>
    isDecidedAlone(question, option) ? [literalMrkdwn`*${labelOf(option)}*`] : [],
  );
  const shown = [...labels.slice(0, maxAlone), ...(labels.length > maxAlone ? ["…"] : [])];
  return labels.length === 0 ? "" : alone[locale](shown);
}

/** The approvals so far, a line for each option that has any. Returns "" if there are none, or if the answer names them. */
export function approvalsText(
  { question, locale }: Omit<Rules, "task">,
  labelOf: (option: number) => string,
): string {
  const { approvals, answer, options } = question;
  if (approvals === undefined || answer?.approvedBy !== undefined) return "";
  const chosen = options.flatMap((_, option) => {
    const people = approvals.given.filter((approval) => approval.option === option);
    return people.length === 0 ? [] : [{ option, users: people.map(({ user }) => user) }];
  });
  const isOnly = options.filter(({ style }) => style !== "danger").length === 1;
  const lines = chosen.map(({ option, users }) => {
    const line = approved[locale]({
      count: users.length,
      needed: approvals.needed,
      names: nameUsers(users, locale),
    });
    return isOnly ? line : literalMrkdwn`*${labelOf(option)}* — `.concat(line);
  });
  return joinWithin(lines, maxApprovalsLength);
}

/** Leaves out whole lines, because a part of a mention would show as signs. */
function joinWithin(lines: readonly string[], maxLength: number): string {
  let text = "";
  for (const line of lines) {
    if (text.length + line.length > maxLength) return removeEmpty([text, "…"]).join("\n");
    text = removeEmpty([text, line]).join("\n");
  }
  return text;
}

/** Mentions the people. Slack notifies nobody of a mention that an edit adds. */
export function nameUsers(users: readonly string[], locale: Locale): string {
  const names = users.slice(0, maxNames).map(mention);
  return locale === "ja" ? names.map((name) => `${name} さん`).join("、") : names.join(", ");
}

/** Instead of the hint that a reply in the thread is an answer. */
export function buttonsHint(question: AgentQuestion, locale: Locale): string | undefined {
  return needsButtons(question) ? onlyButtons[locale] : undefined;
}

function mention(user: string): string {
  return `<@${escapeMrkdwn(user)}>`;
}

const onlyButtons: Record<Locale, string> = {
  en: "Press a button. Replies in this thread don't count.",
  ja: "ボタンを押してください。スレッドでの返信は回答になりません。",
};

const onlyAsker: Record<Locale, (rule: { asker: string; groups: readonly string[] }) => string> = {
  en: ({ asker, groups }) =>
    groups.length === 0
      ? `Only ${asker} can answer.`
      : `Only ${asker} can answer, as a member of ${groups.join(" and ")}.`,
  ja: ({ asker, groups }) =>
    groups.length === 0
      ? `${asker} さんだけが回答できます。`
      : `${groups.join(" と ")} のメンバーである ${asker} さんだけが回答できます。`,
};

const notAsker: Record<Locale, (rule: { asker: string; groups: readonly string[] }) => string> = {
  en: ({ asker, groups }) =>
    groups.length === 0
      ? `Anyone who can ask here can answer, except ${asker}.`
      : `Members of ${groups.join(" and ")} can answer, except ${asker}.`,
  ja: ({ asker, groups }) =>
    groups.length === 0
      ? `ここで依頼できる人なら、${asker} さん以外の誰でも回答できます。`
      : `${groups.join(" と ")} のメンバーのうち、${asker} さん以外が回答できます。`,
};

const members: Record<Locale, (groups: readonly string[]) => string> = {
  en: (groups) => `Members of ${groups.join(" and ")} can answer.`,
  ja: (groups) => `${groups.join(" と ")} のメンバーが回答できます。`,
};

const anyone: Record<Locale, string> = {
  en: "Anyone who can ask here can answer.",
  ja: "ここで依頼できる人なら、誰でも回答できます。",
};

const needed: Record<Locale, (count: number) => string> = {
  en: (count) => `${count} people must agree.`,
  ja: (count) => `${count}人の同意が必要です。`,
};

const alone: Record<Locale, (labels: readonly string[]) => string> = {
  en: (labels) => `One alone can choose ${labels.join(", ")}.`,
  ja: (labels) => `${labels.join("、")} は1人でも選べます。`,
};

const approved: Record<
  Locale,
  (approvals: { count: number; needed: number; names: string }) => string
> = {
  en: ({ count, needed: total, names }) => `${count} of ${total} approved: ${names}`,
  ja: ({ count, needed: total, names }) => `${total}人中${count}人が承認：${names}`,
};
