/** The problems of a configuration, in lines for a person. This file imports no schema, so that small bundles contain none. */
import type * as z from "zod";

export const configFileName = "sekisho.config.json";

/** The configuration is invalid. Each of `problems` is a line for a person. */
export class ConfigError extends Error {
  readonly problems: string[];

  constructor(file: string, problems: string[], options?: ErrorOptions) {
    super(
      `${file} cannot be used:\n${problems.map((problem) => `  - ${problem}`).join("\n")}`,
      options,
    );
    this.name = "ConfigError";
    this.problems = problems;
  }
}

/** Throws a ConfigError with all problems. */
export function parseWith<T>({
  schema,
  json,
  name,
}: {
  schema: z.ZodType<T>;
  json: unknown;
  name: string;
}): T {
  const result = schema.safeParse(json);
  if (result.success) return result.data;
  throw new ConfigError(name, describeIssues(result.error.issues));
}

/** The lines for zod's issues. `explainKey` says what is wrong with an unknown key of the object at `path`. */
export function describeIssues(
  issues: readonly z.core.$ZodIssue[],
  explainKey: ExplainKey = () => "unknown key",
): string[] {
  return issues.flatMap((issue) => describe(issue, explainKey));
}
type ExplainKey = (path: PropertyKey[], key: string) => string;

/** A union's own message is vague, so this reports the issues of the member that matches best. */
function describe(
  issue: z.core.$ZodIssue,
  explainKey: ExplainKey,
  parent: PropertyKey[] = [],
): string[] {
  const path = [...parent, ...issue.path];
  if (issue.code === "invalid_union") {
    const likelyIssues = issue.errors.filter((issues) => !issues.some(isOtherType));
    const [best] = likelyIssues.toSorted((a, b) => depth(b) - depth(a) || a.length - b.length);
    if (best !== undefined) return best.flatMap((inner) => describe(inner, explainKey, path));
  }
  if (issue.code === "invalid_key")
    return issue.issues.flatMap((inner) => describe(inner, explainKey, path));
  if (issue.code === "unrecognized_keys") {
    return issue.keys.map((key) => `${formatPath([...path, key])}: ${explainKey(path, key)}`);
  }
  const isMissing = issue.code === "invalid_type" && issue.message.endsWith("received undefined");
  return [`${formatPath(path) || "the file"}: ${isMissing ? "is missing" : issue.message}`];
}

/** True if the value has another type than the union's member, such as a text instead of an object. */
function isOtherType({ code, path }: z.core.$ZodIssue): boolean {
  return path.length === 0 && (code === "invalid_type" || code === "invalid_value");
}

/** Formats a path like JavaScript. zod's own function would add all its locales to the bundle. */
export function formatPath(path: readonly PropertyKey[]): string {
  const steps = path.map((step) => {
    if (typeof step === "number") return `[${step}]`;
    const name = String(step);
    return /^[\w$]+$/.test(name) ? `.${name}` : `[${JSON.stringify(name)}]`;
  });
  return steps.join("").replace(/^\./, "");
}

function depth(issues: z.core.$ZodIssue[]): number {
  return Math.max(0, ...issues.map((issue) => issue.path.length));
}
