/** Reads and checks `sekisho.config.json`. Reports all problems at once, each with its path and remedy. */
import { readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { findRepeatedKeys } from "../repeated-keys.ts";
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
  const repeated = [...findRepeatedKeys(text)];
  if (repeated.length === 0) return json;
  const problems = repeated.map((key) => `${formatPath(key)}: appears more than once; keep one`);
  throw new ConfigError(path, problems);
}

/** Throws a ConfigError with all problems. */
export function parseConfig({ json, name = configFileName }: { json: unknown; name?: string }): Config {
  return parseWith({ schema: configSchema, json, name });
}
