/** Reads and checks `sekisho.config.json`. Reports all problems at once, each with its path and remedy. */
import { readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { isJsonObject } from "../untrusted-input.ts";
import { ConfigError, configFileName, formatPath, parseWith } from "./config-error.ts";
import { configSchema } from "./cross-checks.ts";
import type { Config } from "./schema.ts";

/** `directory` is the working directory of the command. `file` is the path that the user gave. */
export type ConfigLocation = { directory: string; file?: string | undefined };

/** The path of the file that `loadConfig` reads. */
export function configPath({ directory, file }: ConfigLocation): string {
  return resolve(directory, file ?? configFileName);
}

/** The directory to which the configuration's paths are relative. */
export function configDirectory(location: ConfigLocation): string {
  return dirname(configPath(location));
}

/** Reads `file`, or else the default file in `directory`. If that does not exist, all defaults apply. */
export function loadConfig(location: ConfigLocation): Config {
  return parseConfig(readConfig(location));
}

/** For the Execution zone alone. Ignores `destinations` and `routes`, so that its file need not have them. */
export function loadExecutionConfig(location: ConfigLocation): Config {
  const { json, name } = readConfig(location);
  return parseConfig({ json: isJsonObject(json) ? { ...json, destinations: {}, routes: [] } : json, name });
}

function readConfig(location: ConfigLocation): { json: unknown; name: string } {
  const name = configPath(location);
  let text: string;
  try {
    text = readFileSync(name, "utf8");
  } catch (cause) {
    if (location.file === undefined && (cause as NodeJS.ErrnoException).code === "ENOENT") return { json: {}, name };
    throw new ConfigError(name, [`the file cannot be read (${(cause as NodeJS.ErrnoException).code ?? "unknown"})`]);
  }
  return { json: parseJson({ text, path: name }), name };
}

/** Refuses a repeated key, because JSON.parse silently takes the last one. */
function parseJson({ text, path }: { text: string; path: string }): unknown {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (cause) {
    throw new ConfigError(path, [`the file is not JSON: ${cause instanceof Error ? cause.message : "unknown"}`]);
  }
  const twice = duplicateKeys(text);
  if (twice.length === 0) return json;
  const problems = twice.map((key) => `${formatPath(key)}: appears more than once; keep one`);
  throw new ConfigError(path, problems);
}

/** Throws a ConfigError with all problems. */
export function parseConfig({ json, name = configFileName }: { json: unknown; name?: string }): Config {
  return parseWith({ schema: configSchema, json, name });
}

type Path = (string | number)[];
type Open = { kind: "object"; keys: Set<string>; key: string } | { kind: "array"; index: number };

/** Returns the path of each repeated key. `text` must be valid JSON. */
export function duplicateKeys(text: string): Path[] {
  const open: Open[] = [];
  const found: Path[] = [];
  let awaitsKey = false;
  // Outside of strings, only these characters determine the structure.
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
