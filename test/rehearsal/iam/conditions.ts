/** Conditions of policy statements: the operators and keys that the templates use. An unknown one throws, so that none is waved through. */
import { matches, matchesArn } from "./match.ts";
import type { Condition } from "./policy.ts";

/** By key, in lower case; a key that the call does not have is left out. */
export type Context = Record<string, string>;

/** What calls can carry; each call has some of them. */
const knownKeys = new Set([
  "aws:securetransport",
  "aws:principalarn",
  "aws:principalaccount",
  "aws:resourceaccount",
  "aws:sourceaccount",
  "aws:sourcearn",
  "kms:viaservice",
  "kms:calleraccount",
  "lambda:functionurlauthtype",
  "lambda:invokedviafunctionurl",
]);

type Operator = (value: string, wanted: string) => boolean;

const operators: Record<string, { test: Operator; negated?: true }> = {
  StringEquals: { test: (value, wanted) => value === wanted },
  StringNotEquals: { test: (value, wanted) => value === wanted, negated: true },
  StringLike: { test: (text, pattern) => matches({ pattern, text }) },
  StringNotLike: { test: (text, pattern) => matches({ pattern, text }), negated: true },
  ArnEquals: { test: (arn, pattern) => matchesArn({ pattern, arn }) },
  ArnLike: { test: (arn, pattern) => matchesArn({ pattern, arn }) },
  ArnNotEquals: { test: (arn, pattern) => matchesArn({ pattern, arn }), negated: true },
  ArnNotLike: { test: (arn, pattern) => matchesArn({ pattern, arn }), negated: true },
  Bool: { test: (value, wanted) => value.toLowerCase() === wanted.toLowerCase() },
};

/** Values of one condition are alternatives. Without the key a condition fails, unless it is negated or says IfExists. */
export function holds({ condition, context }: { condition: Condition; context: Context }): boolean {
  const key = condition.key.toLowerCase();
  if (!knownKeys.has(key)) throw new Error(`The condition key ${condition.key} is not known to the rehearsal.`);
  const value = context[key];
  if (condition.operator === "Null") return condition.values.includes(String(value === undefined));
  const [, name = "", ifExists] = /^(.*?)(IfExists)?$/.exec(condition.operator) ?? [];
  const operator = operators[name];
  if (operator === undefined) throw new Error(`The condition ${condition.operator} is not known to the rehearsal.`);
  if (value === undefined) return ifExists !== undefined || operator.negated === true;
  const isMet = condition.values.some((wanted) => operator.test(value, wanted));
  return operator.negated ? !isMet : isMet;
}
