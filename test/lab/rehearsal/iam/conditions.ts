/** Conditions of policies, with the operators and keys that the templates use. An unknown one throws, so that none is skipped. */
import { matches, matchesArn } from "./match.ts";
import type { Condition } from "./policy.ts";

/** The condition keys of a call, in lower case. A list is a key with several values. */
export type Context = Record<string, string | readonly string[]>;

/** All keys that a call can have. */
const knownKeys = new Set([
  "bedrock:inferenceprofilearn",
  "aws:securetransport",
  "aws:principalarn",
  "aws:principalaccount",
  "aws:resourceaccount",
  "aws:sourceaccount",
  "aws:sourcearn",
  "aws:tagkeys",
  "dynamodb:leadingkeys",
  "kms:encryptioncontext:aws:logs:arn",
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

const operators: Record<string, Test> = {
  StringEquals: (value, wanted) => value === wanted,
  StringLike: (text, pattern) => matches({ pattern, text }),
  ArnEquals: (arn, pattern) => matchesArn({ pattern, arn }),
  ArnLike: (arn, pattern) => matchesArn({ pattern, arn }),
  Bool: (value, wanted) => value.toLowerCase() === wanted.toLowerCase(),
  NumericLessThanEquals: (value, wanted) => Number(value) <= Number(wanted),
};

/**
 * The values of one condition are alternatives. Without the key a condition fails, unless it is about all values.
 * https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_condition-single-vs-multi-valued-context-keys.html
 */
export function holds({ condition, context }: { condition: Condition; context: Context }): boolean {
  const key = condition.key.toLowerCase();
  if (!knownKeys.has(key))
    throw new Error(`The condition key ${condition.key} is not known to the rehearsal.`);
  const contextValue = context[key];
  if (condition.operator === "Null")
    return condition.values.includes(String(contextValue === undefined));
  const [, set, name = ""] = /^(?:(ForAllValues):)?(.*)$/.exec(condition.operator) ?? [];
  const test = operators[name];
  if (test === undefined)
    throw new Error(`The condition ${condition.operator} is not known to the rehearsal.`);
  if (contextValue === undefined) return set !== undefined;
  const isMet = (value: string) => condition.values.some((wanted) => test(value, wanted));
  if (set !== undefined) return [contextValue].flat().every(isMet);
  // AWS takes a condition as not met if the key has several values and the operator is for one.
  return typeof contextValue === "string" && isMet(contextValue);
}
