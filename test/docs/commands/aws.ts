/** Commands of the AWS CLI: they need an account. Their subcommands and options are compared with those of AWS's reference. */
import { documentedCommands } from "./documented.ts";
import type { LookEntry } from "./entry.ts";
import { lookAtProgram } from "./known-programs.ts";
import { parseCommand } from "./shell-line.ts";

const isAws = (command: string) => parseCommand(command).every(({ words: [program] }) => program === "aws");

/** Every command of the documents that consists of calls of the AWS CLI alone. */
export const awsCommands: LookEntry[] = [...new Set(documentedCommands().map(({ command }) => command))]
  .filter(isAws)
  .map((command) => ({
    command,
    because: "it reads or changes an account of AWS",
    look: (parts) => parts.forEach(lookAtProgram),
  }));
