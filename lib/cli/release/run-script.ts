/** Runs a script of the project: what its main function throws becomes a message and an exit code. */

import { ConfigError } from "../../../lambdas/shared/config/load.ts";
import { UsageError } from "../command.ts";

/** `main` returns the exit code; `command` is how a person calls the script. */
export function runScript({ command, main }: { command: string; main: (args: string[]) => number }): void {
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
