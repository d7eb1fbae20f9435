/** Runs a script of the project: what its main function throws becomes a message and an exit code. */

import { ConfigError } from "../../../lambdas/shared/config/config-error.ts";
import { isUsageError } from "../command.ts";

/** `command` is what a person types to call the script. `main` returns the exit code, and is not called for `--help`. */
type Script = { command: string; help: string; main: (args: string[]) => number };

export function runScript({ command, help, main }: Script): void {
  const args = process.argv.slice(2);
  if (args.includes("--help") || args.includes("-h")) {
    process.stdout.write(`${help}\n`);
    return;
  }
  try {
    process.exitCode = main(args);
  } catch (thrown) {
    const isUsage = isUsageError(thrown);
    const message = thrown instanceof Error ? thrown.message : "unknown error";
    process.stderr.write(`${message}\n${isUsage ? `${command} --help says more.\n` : ""}`);
    process.exitCode = isUsage || thrown instanceof ConfigError ? 2 : 1;
  }
}
