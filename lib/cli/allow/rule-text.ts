/** The words of the commands about the allowlist: what a person writes of a rule, and what they read of one. */

import { UsageError } from "../../../bin/commands/command.ts";
import type { AllowlistRule } from "../../../lambdas/shared/config/schema.ts";
import type { Requester } from "../../../lambdas/verification/gate/rules.ts";
import type { RuleFields } from "./rule-set.ts";

const ids = {
  team: { pattern: /^T[A-Z0-9]{0,63}$/, text: "a workspace's id such as T012AB3CD" },
  channel: { pattern: /^[CDG][A-Z0-9]{0,63}$/, text: "a channel's id such as C012AB3CD" },
  user: { pattern: /^[UW][A-Z0-9]{0,63}$/, text: "a user's id such as U012AB3CD" },
  group: { pattern: /^S[A-Z0-9]{0,63}$/, text: "a user group's id such as S012AB3CD" },
};
const fields = ["team", "channel", "user", "group"] as const;
const maxLabelLength = 80;

export const fieldOptions = {
  team: { type: "string" },
  channel: { type: "string" },
  user: { type: "string" },
  group: { type: "string" },
} as const;

type FieldValues = { [Field in keyof RuleFields]?: string | undefined };

/** What is given but empty, such as a variable of a shell that is not set, is refused: without it the rule would be wider. */
export function readRuleFields(values: FieldValues): RuleFields {
  const given = fields.flatMap((field) => {
    const value = values[field];
    if (value === undefined) return [];
    const { pattern, text } = ids[field];
    if (!pattern.test(value)) throw new UsageError(`--${field} is ${text}, not ${JSON.stringify(value)}.`);
    return [[field, value] as const];
  });
  return Object.fromEntries(given);
}

export function readRule({ label, ...values }: FieldValues & { label?: string | undefined }): AllowlistRule {
  const rule = readRuleFields(values);
  if (Object.keys(rule).length === 0) {
    throw new UsageError("Name at least one of --team, --channel, --user, --group: a rule without any is for nobody.");
  }
  if (label === undefined) return rule;
  if (label === "" || label.length > maxLabelLength || /\p{Cc}/u.test(label)) {
    throw new UsageError(`--label is a text of 1 to ${maxLabelLength} characters on one line.`);
  }
  return { ...rule, label };
}

/** A message has all three. */
export function readRequester(values: Omit<FieldValues, "group">): Requester {
  const { team, channel, user } = readRuleFields(values);
  if (team === undefined || channel === undefined || user === undefined) {
    throw new UsageError("--team, --channel and --user are needed: where the question is asked, and by whom.");
  }
  return { team, channel, user };
}

export function readRuleNumber(text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw new UsageError(`"${text}" is no number of a rule. sekisho allow list shows them.`);
}

/** `team T1, channel C1 "for the release"`. */
export function formatRule(rule: AllowlistRule): string {
  const given = fields.flatMap((field) => (rule[field] === undefined ? [] : [`${field} ${rule[field]}`]));
  // A label of the configuration may hold anything; the terminal is not to obey it.
  const label = rule.label === undefined ? "" : ` ${JSON.stringify(rule.label.replace(/\p{Cc}/gu, " "))}`;
  return `${given.join(", ")}${label}`;
}

/** `--team T1 --channel C1`: how a command names them. */
export function formatRuleField(given: RuleFields): string {
  return fields.flatMap((field) => (given[field] === undefined ? [] : [`--${field} ${given[field]}`])).join(" ");
}
