/** Reads and checks `sekisho.config.json`. Reports all problems at once, each with its path and remedy. */
import { dirname, resolve } from "node:path";
import { findRepeatedKeys } from "@sekisho/runtime/repeated-keys.ts";
import { readTextFile } from "@sekisho/runtime/text-file.ts";
import { isJsonObject } from "@sekisho/runtime/untrusted-input.ts";
import { addAgentDestinations } from "./agent-destinations.ts";
import { ConfigError, configFileName, describeIssues, formatPath } from "./config-error.ts";
import { crossCheck } from "./cross-checks.ts";
import { withAskerZones } from "./execution-asker.ts";
import { type Config, configFields } from "./schema.ts";
import { findClosest, knownKeys } from "./unknown-key.ts";
import { allValid, takeValidParts } from "./valid-parts.ts";

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
  const { json, ...file } = readConfig(location);
  const ownJson = isJsonObject(json) ? { ...json, destinations: {}, routes: [] } : json;
  return parseWholeConfig({ json: ownJson, ...file });
}

type ConfigFile = { json: unknown; name: string; problems?: string[] };

function readConfig(location: ConfigLocation): ConfigFile {
  const name = configPath(location);
  let text: string;
  try {
    text = readTextFile(name);
  } catch (cause) {
    if (location.file === undefined && (cause as NodeJS.ErrnoException).code === "ENOENT")
      return { json: {}, name };
    throw new ConfigError(name, [
      `the file cannot be read (${(cause as NodeJS.ErrnoException).code ?? "unknown"})`,
    ]);
  }
  return { ...parseJson({ text, path: name }), name };
}

/** Reports repeated keys, because JSON.parse silently takes the last one. */
function parseJson({
  text,
  path,
}: {
  text: string;
  path: string;
}): Pick<ConfigFile, "json" | "problems"> {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (cause) {
    throw new ConfigError(path, [
      `the file is not JSON: ${cause instanceof Error ? cause.message : "unknown"}`,
    ]);
  }
  const repeatedKeys = [...findRepeatedKeys(text)];
  return {
    json,
    problems: repeatedKeys.map((key) => `${formatPath(key)}: appears more than once; keep one`),
  };
}

type GivenConfig = { json: unknown; name?: string; problems?: string[] };

/** Throws a ConfigError with all problems, which come after those that are given. */
export function parseConfig({ json, ...file }: GivenConfig): Config {
  return parseWholeConfig({ json: addAgentDestinations(json), ...file });
}

/** The same for a configuration that gets no destinations for its agents, because it has them or needs none. */
export function parseWholeConfig({
  json,
  name = configFileName,
  problems = [],
}: GivenConfig): Config {
  const result = configFields.safeParse(json);
  const issues = result.success ? [] : result.error.issues;
  const all = [
    ...problems,
    ...describeIssues(issues, (path, key) => explainKey({ json, path, key })),
    ...crossCheck(result.success ? allValid(result.data) : takeValidParts(json)).map(
      ({ path, message }) => `${formatPath(path)}: ${message}`,
    ),
  ];
  if (result.success && all.length === 0) return withAskerZones(result.data);
  throw new ConfigError(name, all);
}

/** More keys would not help to find the right one. */
const maxKeysListed = 13;

function explainKey({
  json,
  path,
  key,
}: {
  json: unknown;
  path: PropertyKey[];
  key: string;
}): string {
  const validKeys = knownKeys({ schema: configFields, json, path });
  const closest = findClosest(key, validKeys);
  if (closest !== undefined) return `unknown key; did you mean "${closest}"?`;
  return validKeys.length <= maxKeysListed
    ? `unknown key; choose from: ${validKeys.join(", ")}`
    : "unknown key";
}
