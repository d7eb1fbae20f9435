/** Reads and checks `sekisho.config.json`: all problems at once, each with its path and what would be right. */
import { readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import type * as z from "zod";
import { configSchema } from "./cross-checks.ts";
import type { Config } from "./schema.ts";

const configFileName = "sekisho.config.json";

/** The configuration cannot be used. `problems` are lines for a person. */
export class ConfigError extends Error {
  readonly problems: string[];

  constructor(file: string, problems: string[], options?: ErrorOptions) {
    super(`${file} cannot be used:\n${problems.map((problem) => `  - ${problem}`).join("\n")}`, options);
    this.name = "ConfigError";
    this.problems = problems;
  }
}

/** Where the configuration is read: `directory` is that of the command, `file` what the person named. */
export type ConfigLocation = { directory: string; file?: string | undefined };

/** The file that `loadConfig` reads. */
export function configPath({ directory, file }: ConfigLocation): string {
  return resolve(directory, file ?? configFileName);
}

/** From which the paths of the configuration count, such as the agent's. */
export function configDirectory(location: ConfigLocation): string {
  return dirname(configPath(location));
}

/** Without a `file` the one in `directory` is read, and where there is none, every default holds. */
export function loadConfig(location: ConfigLocation): Config {
  return parseConfig(readConfig(location));
}

/** For the Execution zone alone, whose file may hold nothing else: where tasks come from is left out, with all that it demands. */
export function loadExecutionConfig(location: ConfigLocation): Config {
  return parseExecutionConfig(readConfig(location));
}

/** As `loadExecutionConfig`, of a configuration that was read. */
export function parseExecutionConfig({ json, name }: { json: unknown; name?: string }): Config {
  const isObject = typeof json === "object" && json !== null && !Array.isArray(json);
  return parseConfig({
    json: isObject ? { ...json, destinations: {}, routes: [] } : json,
    ...(name !== undefined && { name }),
  });
}

function readConfig(location: ConfigLocation): { json: unknown; name: string } {
  const name = configPath(location);
  let text: string;
  try {
    text = readFileSync(name, "utf8");
  } catch (cause) {
    if (location.file === undefined && (cause as NodeJS.ErrnoException).code === "ENOENT") return { json: {}, name };
    throw new ConfigError(name, [`it cannot be read (${(cause as NodeJS.ErrnoException).code ?? "unknown"})`]);
  }
  return { json: parseJson({ text, path: name }), name };
}

/** A key that is there twice is refused: JSON.parse takes the last one without a word. */
function parseJson({ text, path }: { text: string; path: string }): unknown {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (cause) {
    throw new ConfigError(path, [`it is not JSON: ${cause instanceof Error ? cause.message : "unknown"}`]);
  }
  const twice = duplicateKeys(text);
  if (twice.length === 0) return json;
  throw new ConfigError(
    path,
    twice.map((key) => `${pathText(key)}: is there more than once; keep one`),
  );
}

/** Throws a ConfigError with every problem. */
export function parseConfig({ json, name = configFileName }: { json: unknown; name?: string }): Config {
  const parsed = configSchema.safeParse(json);
  if (parsed.success) return parsed.data;
  throw new ConfigError(
    name,
    parsed.error.issues.flatMap((issue) => describe(issue)),
  );
}

/** A union's own message says little: what the member that fits best complains of says more. */
function describe(issue: z.core.$ZodIssue, parent: PropertyKey[] = []): string[] {
  const path = [...parent, ...issue.path];
  if (issue.code === "invalid_union") {
    const meant = issue.errors.filter((issues) => !issues.some(isOtherType));
    const [best] = meant.toSorted((a, b) => depth(b) - depth(a) || a.length - b.length);
    if (best !== undefined) return best.flatMap((inner) => describe(inner, path));
  }
  if (issue.code === "invalid_key") return issue.issues.flatMap((inner) => describe(inner, path));
  return [`${pathText(path) || "the file"}: ${issue.message}`];
}

/** The member is of another type altogether, such as a text where the file has an object. */
function isOtherType({ code, path }: z.core.$ZodIssue): boolean {
  return path.length === 0 && (code === "invalid_type" || code === "invalid_value");
}

/** As JavaScript would write it. zod's own way of saying so would bring every locale of its messages into a bundle. */
function pathText(path: readonly PropertyKey[]): string {
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

// Finds the keys that an object of a JSON text has more than once; JSON.parse takes the last and says nothing.

type Path = (string | number)[];
type Open = { kind: "object"; keys: Set<string>; key: string } | { kind: "array"; index: number };

/** Where each repeated key is. `text` must be JSON: whoever calls this has parsed it. */
export function duplicateKeys(text: string): Path[] {
  const open: Open[] = [];
  const found: Path[] = [];
  let awaitsKey = false;
  // Outside of strings only these characters say where in the structure one is.
  for (const [token] of text.matchAll(/"(?:[^"\\]|\\.)*"|[[\]{},]/g)) {
    const inner = open.at(-1);
    if (token === "{") open.push({ kind: "object", keys: new Set(), key: "" });
    else if (token === "[") open.push({ kind: "array", index: 0 });
    else if (token === "}" || token === "]") open.pop();
    else if (token === "," && inner?.kind === "array") inner.index += 1;
    else if (awaitsKey && inner?.kind === "object") {
      inner.key = JSON.parse(token);
      if (inner.keys.has(inner.key)) found.push(open.map(stepOf));
      inner.keys.add(inner.key);
    }
    awaitsKey = token === "{" || (token === "," && inner?.kind === "object");
  }
  return found;
}

function stepOf(open: Open): string | number {
  return open.kind === "object" ? open.key : open.index;
}
