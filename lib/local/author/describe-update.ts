/** Says to the author of an agent what is wrong with an update. The text holds the author's own value, so it is not for log lines. */
import { inspect } from "node:util";
import { signInUrlProblem } from "@sekisho/contracts/sign-in.ts";
import { updateSchema } from "@sekisho/execution/runs/update-schema.ts";
import type * as z from "zod";

type Issue = z.core.$ZodIssue;

/** Undefined for a valid update. Names the first problem only. */
export function describeProblem(update: unknown): string | undefined {
  const [issue] = updateSchema.safeParse(update).error?.issues ?? [];
  if (issue === undefined) return undefined;
  if (issue.path.length === 0)
    return `an update must be an object with a \`type\`, got ${show(update)}`;
  const name = issue.path
    .map((key) => (typeof key === "number" ? `[${key}]` : `.${String(key)}`))
    .join("");
  // A link to sign in is a credential, whatever is wrong with it.
  if (issue.path[0] === "url" && issue.code !== "custom") return `\`url\` ${signInUrlProblem}`;
  const value = issue.path.reduce<unknown>((at, key) => Object(at)[key], update);
  return `\`${name.replace(/^\./, "")}\` ${describeIssue({ issue, value })}`;
}

function describeIssue({ issue, value }: { issue: Issue; value: unknown }): string {
  const gotText = value === undefined ? "but it is missing" : `got ${show(value)}`;
  switch (issue.code) {
    case "invalid_type":
      return `must be ${article(issue.expected)} ${issue.expected}, ${gotText}`;
    case "invalid_value":
      return `must be ${oneOf(issue.values.map(String))}, ${gotText}`;
    case "invalid_union":
      return "options" in issue && Array.isArray(issue.options)
        ? `must be ${oneOf(issue.options.map(String))}, ${gotText}`
        : `is invalid, ${gotText}`;
    case "too_big":
      return `must ${amount("at most", issue.maximum, issue.origin)}, got ${show(value)}`;
    case "too_small":
      return `must ${amount("at least", issue.minimum, issue.origin)}, got ${show(value)}`;
    default:
      return issue.code === "custom" ? issue.message : `is invalid: ${issue.message}`;
  }
}

function oneOf(values: readonly string[]): string {
  if (values.length < 2) return values.join("");
  return `one of ${values.slice(0, -1).join(", ")} or ${values.at(-1)}`;
}

function article(word: string): string {
  return /^[aeiou]/.test(word) ? "an" : "a";
}

function amount(limit: string, count: number | bigint, origin: string): string {
  if (origin === "string") return `have ${limit} ${count} characters`;
  return origin === "array" ? `have ${limit} ${count} entries` : `be ${limit} ${count}`;
}

/** One short line, whatever the value is. */
function show(value: unknown): string {
  const text =
    typeof value === "string"
      ? JSON.stringify(value)
      : inspect(value, { depth: 1, breakLength: Infinity });
  return text.length > 80 ? `${text.slice(0, 79)}…` : text;
}
