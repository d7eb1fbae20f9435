/** Runs the main function of a script: what it throws becomes lines for a person and an exit code. */

import { UsageError } from "../../../bin/commands/command.ts";
import { ConfigError } from "../../../lambdas/shared/config/load.ts";

/** `main` gives the exit code; `command` is how a person calls the script. */
export function runScript({ command, main }: { command: string; main: (words: string[]) => number }): void {
  try {
    process.exitCode = main(process.argv.slice(2));
  } catch (thrown) {
    const isUsage = thrown instanceof UsageError || isOfParseArgs(thrown);
    const message = thrown instanceof Error ? thrown.message : "unknown error";
    process.stderr.write(`${message}\n${isUsage ? `${command} --help says more.\n` : ""}`);
    process.exitCode = isUsage || thrown instanceof ConfigError ? 2 : 1;
  }
}

function isOfParseArgs(thrown: unknown): boolean {
  return thrown instanceof TypeError && "code" in thrown && String(thrown.code).startsWith("ERR_PARSE_ARGS");
}
