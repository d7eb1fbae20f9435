/** Reads the rules of the allowlist from the options of a command, and formats them for a person. */

import { type AllowlistRule, allowlistRuleSchema } from "@sekisho/config/schema.ts";
import type { Requester } from "@sekisho/verification/gate/rules.ts";
import { option, UsageError } from "../command.ts";
import { type RuleFields, ruleFields } from "./rule-set.ts";

const ids = {
  team: {
    pattern: /^[TE][A-Z0-9]{0,63}$/,
    text: "the id of a workspace such as T012AB3CD, or of an organization such as E012AB3CD",
  },
  channel: { pattern: /^[CDG][A-Z0-9]{0,63}$/, text: "a channel's id such as C012AB3CD" },
  user: { pattern: /^[UW][A-Z0-9]{0,63}$/, text: "a user's id such as U012AB3CD" },
  group: { pattern: /^S[A-Z0-9]{0,63}$/, text: "a user group's id such as S012AB3CD" },
  bot: {
    pattern: /^([AB][A-Z0-9]{1,63}|Wf[A-Z0-9]{1,62})$/,
    text: "the id of a bot such as B012AB3CD, of an app such as A012AB3CD, or of a workflow such as Wf012AB3CD",
  },
  external: { pattern: /^(channels|people)$/, text: "either channels or people" },
};
const maxLabelLength = 80;

export const fieldOptions = {
  team: option(
    "T",
    "messages in that workspace (T…), or in that organization (E…) if the app is installed in all of it. For people of another workspace it is yours",
  ),
  channel: option("C", "messages in that channel or direct message (C…, D…)"),
  user: option("U", "messages of that person (U…)"),
  group: option("S", "messages of members of that user group (S…)"),
  bot: option("B", "messages of that bot, app or workflow (B…, A…, Wf…) that mention Sekisho"),
  external: option(
    "WHO",
    "also in channels shared with other organizations: channels for your own people, people for everyone",
  ),
};

type FieldValues = { [Field in keyof RuleFields]?: string | undefined };

/** The rest only says more of these. */
const namingFields = ruleFields.filter((field) => field !== "external");

/** Refuses an empty value, such as a shell variable that is not set, because without it the rule would be wider. */
export function readRuleFields(values: FieldValues): RuleFields {
  const pairs = ruleFields.flatMap((field) => {
    const value = values[field];
    if (value === undefined) return [];
    const { pattern, text } = ids[field];
    if (!pattern.test(value))
      throw new UsageError(`--${field} is ${text}, not ${JSON.stringify(value)}.`);
    return [[field, value] as const];
  });
  return Object.fromEntries(pairs);
}

/** Refuses a rule that names no workspace if workspaces install the app themselves, because it would count nowhere. */
export function requireWorkspace(
  rule: AllowlistRule,
  { hasManyWorkspaces }: { hasManyWorkspaces: boolean },
): void {
  if (rule.team !== undefined || !hasManyWorkspaces) return;
  throw new UsageError(
    "Give --team with the id of the workspace (T…) or organization (E…), because slack.install lets several install the app.",
  );
}

export function readRule({
  label,
  ...values
}: FieldValues & { label?: string | undefined }): AllowlistRule {
  const rule = readRuleFields(values);
  if (namingFields.every((field) => rule[field] === undefined)) {
    throw new UsageError("Give at least one of --team, --channel, --user, --group and --bot.");
  }
  if (!allowlistRuleSchema.safeParse(rule).success) {
    throw new UsageError("Give --bot without --user and --group, because no message is of both.");
  }
  if (label === undefined) return rule;
  if (label === "" || label.length > maxLabelLength || /\p{Cc}/u.test(label)) {
    throw new UsageError(`--label is a text of 1 to ${maxLabelLength} characters on one line.`);
  }
  return { ...rule, label };
}

/** Reads who asks and where. A bot has no user, so its id stands for both. */
export function readRequester(values: Omit<FieldValues, "group">): Requester {
  const { team, channel, user, bot, external } = readRuleFields(values);
  const who = user ?? bot;
  if (
    team === undefined ||
    channel === undefined ||
    who === undefined ||
    (user !== undefined && bot !== undefined)
  ) {
    throw new UsageError("Give --team, --channel, and either --user or --bot.");
  }
  return { team, channel, user: who, external, ...(bot === undefined ? {} : { botIds: [bot] }) };
}

/** The fields of the rule that lets in the requester, and nobody else. */
export function ruleFor({
  team,
  channel,
  user,
  botIds: [bot] = [],
  external,
}: Requester): RuleFields {
  return { team, channel, ...(bot === undefined ? { user } : { bot }), external };
}

export function readRuleNumber(text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw new UsageError(
    `"${text}" is not the number of a rule. sekisho allow list shows the numbers.`,
  );
}

/** `team T1, channel C1 "for the release"`. */
export function formatRule(rule: AllowlistRule): string {
  const conditions = ruleFields.flatMap((field) =>
    rule[field] === undefined ? [] : [`${field} ${rule[field]}`],
  );
  // A label of the configuration may hold control characters, which the terminal must not obey.
  const label =
    rule.label === undefined ? "" : ` ${JSON.stringify(rule.label.replace(/\p{Cc}/gu, " "))}`;
  return `${conditions.join(", ")}${label}`;
}

/** As the options of a command: `--team T1 --channel C1`. */
export function formatRuleOptions(rule: RuleFields): string {
  return ruleFields
    .flatMap((field) => (rule[field] === undefined ? [] : [`--${field} ${rule[field]}`]))
    .join(" ");
}
