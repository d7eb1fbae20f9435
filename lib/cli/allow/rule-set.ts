/** Changes of the kept rules. */
import type { AllowlistRule } from "../../../lambdas/shared/config/schema.ts";
import type { TaskStore } from "../../../lambdas/shared/engine/ports.ts";
import {
  maxRules,
  maxRulesBytes,
  type StoredRule,
  type StoredRules,
} from "../../../lambdas/verification/gate/rules.ts";

/** Texts for a person; `store` rejects with errors that say what to do. */
export type RulePlace = {
  /** Completes "There is no such rule ...". */
  where: string;
  store: Pick<TaskStore<StoredRules>, "get" | "create" | "replace">;
  /** From when on a change that was made now holds. */
  sinceWhen: string;
  /** How the rules of the configuration come to hold there. */
  ofConfiguration: string;
};

const fields = ["team", "channel", "user", "group"] as const;

/** What a rule is about, beside its label: two of the same let in the same people. */
export type RuleFields = Pick<AllowlistRule, (typeof fields)[number]>;

export function isSame(one: RuleFields, other: RuleFields): boolean {
  return fields.every((field) => one[field] === other[field]);
}

/** `isNew` is false, and the set the same object, where the rule is there already, whatever its label. Throws where the set is full. */
export function withRule({ kept, rule, nowMs }: { kept: StoredRules; rule: AllowlistRule; nowMs: number }): {
  kept: StoredRules;
  rule: StoredRule;
  isNew: boolean;
} {
  const there = kept.rules.find((one) => isSame(one.rule, rule));
  if (there !== undefined) return { kept, rule: there, isNew: false };
  const lastNumber = kept.lastNumber + 1;
  const added = { rule, number: lastNumber, addedAtMs: nowMs };
  const rules = [...kept.rules, added];
  if (rules.length > maxRules || Buffer.byteLength(JSON.stringify(rules)) > maxRulesBytes) {
    throw new Error(
      `The allowlist is full (${kept.rules.length} rules). Let in a user group or a channel instead of single persons, and remove what it makes needless.`,
    );
  }
  return { kept: { ...kept, lastNumber, rules }, rule: added, isNew: true };
}

/** The same object where there is no such rule. */
export function withoutRule({ kept, meant }: { kept: StoredRules; meant: number | RuleFields }): {
  kept: StoredRules;
  rule: StoredRule | undefined;
} {
  const rule = kept.rules.find((one) => (typeof meant === "number" ? one.number === meant : isSame(one.rule, meant)));
  if (rule === undefined) return { kept, rule };
  return { kept: { ...kept, rules: kept.rules.filter((one) => one !== rule) }, rule };
}
