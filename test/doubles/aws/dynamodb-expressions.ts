/** The expressions that the task store sends to DynamoDB: conditions, key conditions, filters and updates. Refuses any other form. */
import type { AttributeValue } from "@aws-sdk/client-dynamodb";
import { AwsCallError } from "@sekisho/runtime/aws/retry.ts";

export type Item = Record<string, AttributeValue>;

/** The names and values that the expressions of one call stand for. */
export type Placeholders = {
  ExpressionAttributeNames?: Record<string, string> | undefined;
  ExpressionAttributeValues?: Item | undefined;
};

export function invalid(message: string): AwsCallError {
  return Object.assign(new AwsCallError({ name: "ValidationException", status: 400 }), {
    cause: message,
  });
}

/** DynamoDB refuses a call with a name or a value that no expression uses. */
export function requireAllUsed(
  { ExpressionAttributeNames = {}, ExpressionAttributeValues = {} }: Placeholders,
  expressions: readonly (string | undefined)[],
): void {
  const usedNames = new Set(expressions.join(" ").match(/[#:]\w+/g));
  const values = [
    ...Object.keys(ExpressionAttributeNames),
    ...Object.keys(ExpressionAttributeValues),
  ];
  const unused = values.find((name) => !usedNames.has(name));
  if (unused !== undefined) throw invalid(`${unused} is not used`);
}

/** Terms are joined by AND and OR, without parentheses. */
export function isTrue(
  expression: string,
  item: Item | undefined,
  placeholders: Placeholders,
): boolean {
  return expression
    .split(" OR ")
    .some((all) => all.split(" AND ").every((term) => isTermTrue(term.trim(), item, placeholders)));
}

function isTermTrue(term: string, item: Item | undefined, placeholders: Placeholders): boolean {
  const [, absent] = /^attribute_not_exists\(([#\w]+)\)$/.exec(term) ?? [];
  if (absent !== undefined) return item?.[nameOf(absent, placeholders)] === undefined;
  const [, name, operator, value] = /^([#\w]+) (=|<=|<|>) (:\w+)$/.exec(term) ?? [];
  if (name === undefined || value === undefined)
    throw invalid(`the double does not know the term ${term}`);
  const stored = item?.[nameOf(name, placeholders)];
  const givenValue = readValue(value, placeholders);
  const order = stored === undefined ? undefined : compare(stored, givenValue);
  if (order === undefined) return false;
  if (operator === "=") return order === 0;
  if (operator === "<=") return order <= 0;
  return operator === "<" ? order < 0 : order > 0;
}

/** Undefined for values of different types, of which no comparison is true. */
function compare(one: AttributeValue, other: AttributeValue): number | undefined {
  if (one.N !== undefined && other.N !== undefined)
    return Math.sign(Number(one.N) - Number(other.N));
  if (one.S !== undefined && other.S !== undefined)
    return Buffer.compare(Buffer.from(one.S), Buffer.from(other.S));
  return undefined;
}

/** `SET #a = :a, … REMOVE #b, …` */
export function applyUpdate(expression: string, item: Item, placeholders: Placeholders): Item {
  const [, sets, removes] = /^SET (.+?)(?: REMOVE (.+))?$/.exec(expression) ?? [];
  if (sets === undefined) throw invalid(`the double does not know the update ${expression}`);
  const updated = { ...item };
  for (const set of sets.split(", ")) {
    const [, name, value] = /^([#\w]+) = (:\w+)$/.exec(set) ?? [];
    if (name === undefined || value === undefined) throw invalid(`the double does not know ${set}`);
    updated[nameOf(name, placeholders)] = readValue(value, placeholders);
  }
  for (const name of removes?.split(", ") ?? []) delete updated[nameOf(name, placeholders)];
  return updated;
}

function nameOf(name: string, { ExpressionAttributeNames = {} }: Placeholders): string {
  if (!name.startsWith("#")) return name;
  const attribute = ExpressionAttributeNames[name];
  if (attribute === undefined) throw invalid(`${name} has no meaning`);
  return attribute;
}

export function readValue(
  name: string,
  { ExpressionAttributeValues = {} }: Placeholders,
): AttributeValue {
  const value = ExpressionAttributeValues[name];
  if (value === undefined) throw invalid(`${name} has no value`);
  return value;
}
