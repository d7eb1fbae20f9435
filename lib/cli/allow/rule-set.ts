/** Changes of the stored rules of the allowlist. */
import type { AllowlistRule } from "@sekisho/config/schema.ts";
import {
  maxRules,
  maxRulesBytes,
  type StoredRule,
  type StoredRules,
} from "@sekisho/verification/gate/rules.ts";

export const ruleFields = ["team", "channel", "user", "group", "bot", "external"] as const;

/** A rule without its label. Two rules with the same fields let in the same people. */
export type RuleFields = Pick<AllowlistRule, (typeof ruleFields)[number]>;

export function isSame(one: RuleFields, other: RuleFields): boolean {
  return ruleFields.every((field) => one[field] === other[field]);
}

/** Returns the same set if the rule is there already, whatever its label. Throws if the set is full. */
export function withRule({
  stored,
  rule,
  nowMs,
}: {
  stored: StoredRules;
  rule: AllowlistRule;
  nowMs: number;
}): {
  stored: StoredRules;
  rule: StoredRule;
  isNew: boolean;
} {
  const knownRule = stored.rules.find((one) => isSame(one.rule, rule));
  if (knownRule !== undefined) return { stored, rule: knownRule, isNew: false };
  const lastNumber = stored.lastNumber + 1;
  const newRule = { rule, number: lastNumber, addedAtMs: nowMs };
  const rules = [...stored.rules, newRule];
  if (rules.length > maxRules || Buffer.byteLength(JSON.stringify(rules)) > maxRulesBytes) {
    throw new Error(
      `The allowlist is full (${stored.rules.length} rules). Let in a user group or a channel instead of single persons, and remove the rules that it replaces.`,
    );
  }
  return { stored: { ...stored, lastNumber, rules }, rule: newRule, isNew: true };
}

/** Returns the same set if there is no such rule. */
export function withoutRule({
  stored,
  reference,
}: {
  stored: StoredRules;
  reference: number | RuleFields;
}): {
  stored: StoredRules;
  rule: StoredRule | undefined;
} {
  const rule = stored.rules.find((one) =>
    typeof reference === "number" ? one.number === reference : isSame(one.rule, reference),
  );
  if (rule === undefined) return { stored, rule };
  return { stored: { ...stored, rules: stored.rules.filter((one) => one !== rule) }, rule };
}
