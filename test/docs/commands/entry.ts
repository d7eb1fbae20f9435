/** The entry of one command of the documents: how it is run here, or why it is not and what is checked instead. */
import type { ShellCommand } from "./shell-line.ts";

/** `command` is the line without its comment. */
export type RunEntry<World> = {
  command: string;
  run: (given: { parts: ShellCommand[]; world: World }) => Promise<void>;
};

/** `because` says why the command is not run. `look` throws where the line names something that does not exist. */
export type LookEntry = {
  command: string;
  because: string;
  look: (parts: ShellCommand[]) => void | Promise<void>;
};

export function onlyPart(parts: ShellCommand[]): ShellCommand {
  const [part, ...others] = parts;
  if (part === undefined || others.length > 0) throw new Error("One command was expected.");
  return part;
}
