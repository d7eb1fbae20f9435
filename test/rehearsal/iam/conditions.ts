/** Conditions of policy statements: the operators and keys that the templates use. An unknown one throws, so that none is waved through. */
import { matches, matchesArn } from "./match.ts";
import type { Condition } from "./policy.ts";

/** By key, in lower case; a key that the call does not have is left out, and a list is a key with several values. */
export type Context = Record<string, string | readonly string[]>;

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
  "sts:durationseconds",
  "sts:externalid",
  "sts:identitytokenaudience",
  "sts:signingalgorithm",
]);

type Test = (value: string, wanted: string) => boolean;
type Operator = { test: Test; negated?: true };

const operators: Record<string, Operator> = {
  StringEquals: { test: (value, wanted) => value === wanted },
  StringNotEquals: { test: (value, wanted) => value === wanted, negated: true },
  StringLike: { test: (text, pattern) => matches({ pattern, text }) },
  StringNotLike: { test: (text, pattern) => matches({ pattern, text }), negated: true },
  ArnEquals: { test: (arn, pattern) => matchesArn({ pattern, arn }) },
  ArnLike: { test: (arn, pattern) => matchesArn({ pattern, arn }) },
  ArnNotEquals: { test: (arn, pattern) => matchesArn({ pattern, arn }), negated: true },
  ArnNotLike: { test: (arn, pattern) => matchesArn({ pattern, arn }), negated: true },
  Bool: { test: (value, wanted) => value.toLowerCase() === wanted.toLowerCase() },
  NumericLessThanEquals: { test: (value, wanted) => Number(value) <= Number(wanted) },
};

/**
 * Values of one condition are alternatives. Without the key a condition fails, unless it is negated, says IfExists, or is
 * about all values. https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_condition-single-vs-multi-valued-context-keys.html
 */
export function holds({ condition, context }: { condition: Condition; context: Context }): boolean {
  const key = condition.key.toLowerCase();
  if (!knownKeys.has(key)) throw new Error(`The condition key ${condition.key} is not known to the rehearsal.`);
  const given = context[key];
  if (condition.operator === "Null") return condition.values.includes(String(given === undefined));
  const [, set, name = "", ifExists] = /^(?:(ForAllValues):)?(.*?)(IfExists)?$/.exec(condition.operator) ?? [];
  const operator = operators[name];
  if (operator === undefined) throw new Error(`The condition ${condition.operator} is not known to the rehearsal.`);
  if (given === undefined) return set !== undefined || ifExists !== undefined || operator.negated === true;
  if (set !== undefined) return [given].flat().every((value) => isMet({ operator, value, condition }));
  // Of several values an operator for one is no judge: AWS takes such a condition as not met.
  return typeof given === "string" && isMet({ operator, value: given, condition });
}

function isMet({ operator, value, condition }: { operator: Operator; value: string; condition: Condition }): boolean {
  const isAny = condition.values.some((wanted) => operator.test(value, wanted));
  return operator.negated ? !isAny : isAny;
}
