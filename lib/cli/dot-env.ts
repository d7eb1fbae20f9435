/** Reads `.env` of the working directory for the commands that work on this machine. Deployed code has no part in it. */
import { join } from "node:path";
import { parseEnv } from "node:util";
import { ConfigError } from "@sekisho/config/config-error.ts";
import { readTextFile } from "@sekisho/runtime/text-file.ts";

/** Commands that work on a stage on AWS, whose secrets are not those of this machine. */
const stageCommands: ReadonlySet<string> = new Set([
  ...["config push", "secrets put", "federation enable", "federation show"],
  ...["dead-letters list", "dead-letters redrive"],
]);

/** A command with `--stage` works on a stage, and one with `--watch` starts others, each of which reads the file as it is then. */
export function readsDotEnv({ name, args }: { name: string; args: readonly string[] }): boolean {
  if (stageCommands.has(name)) return false;
  return !args.some((arg) => arg === "--stage" || arg.startsWith("--stage=") || arg === "--watch");
}

type DotEnv = {
  directory: string;
  /** True for the Execution zone alone, which must not know what Slack gave to the Verification zone. */
  isExecution: boolean;
  variables?: NodeJS.ProcessEnv;
};

/** Sets the variables of the file that are not set yet. Does nothing without the file. Throws a ConfigError if it cannot be read. */
export function loadDotEnv({ directory, isExecution, variables = process.env }: DotEnv): void {
  for (const [name, value] of Object.entries(readDotEnv(directory))) {
    if (variables[name] !== undefined || value === undefined) continue;
    if (isExecution && isSlackSecret(name, value)) continue;
    variables[name] = value;
  }
}

function readDotEnv(directory: string): NodeJS.Dict<string> {
  try {
    return parseEnv(readTextFile(join(directory, ".env")));
  } catch (cause) {
    const code = String(Object(cause).code);
    if (code === "ENOENT") return {};
    throw new ConfigError(".env", [`it cannot be read (${code})`], { cause });
  }
}

function isSlackSecret(name: string, value: string): boolean {
  return name.startsWith("SLACK_") || /^(xoxe\.)?(xox[a-z]|xapp)-/.test(value);
}
