/** Reads the configuration for `sekisho config check`: finds every problem in one pass. */
import { existsSync } from "node:fs";
import { ConfigError } from "@sekisho/config/config-error.ts";
import {
  type ConfigLocation,
  configDirectory,
  configPath,
  loadConfig,
  parseConfig,
} from "@sekisho/config/load.ts";
import type { Config } from "@sekisho/config/schema.ts";
import { readTextFile } from "@sekisho/runtime/text-file.ts";
import { isJsonObject } from "@sekisho/runtime/untrusted-input.ts";
import { agentFileProblems } from "./config-needs.ts";
import { checkSyntax } from "./config-syntax.ts";

/** Throws a ConfigError with the problems of the file's syntax, of its content, and of the agent's file. */
export function checkConfig(location: ConfigLocation): Config {
  const path = configPath(location);
  if (!existsSync(path)) return loadConfig(location);
  const { problems, json } = checkSyntax(readTextFile(path));
  const parse = () =>
    problems.length === 0 ? loadConfig(location) : parseConfig({ json, name: path, problems });
  // Nothing is certain of the content if it is not clear what it is.
  if (problems.length > 0 && json === undefined) throw new ConfigError(path, problems);
  const agentProblems = agentFileProblems(executionOf(json), configDirectory(location));
  try {
    const config = parse();
    if (agentProblems.length === 0) return config;
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    throw new ConfigError(path, [...error.problems, ...agentProblems]);
  }
  throw new ConfigError(path, agentProblems);
}

function executionOf(json: unknown): unknown {
  return isJsonObject(json) ? json.execution : undefined;
}
