/** What the tests know of one command of the documents: how it is run here, or why it is not and what is looked at instead. */
import type { ShellCommand } from "./shell-line.ts";

/** `command` is the line as it is written, without its comment. */
export type RunEntry<World> = {
  command: string;
  run: (given: { parts: ShellCommand[]; world: World }) => Promise<void>;
};

/** `because` says why nothing is run; `look` throws where the line names something that there is not. */
export type LookEntry = { command: string; because: string; look: (parts: ShellCommand[]) => void };

export function onlyPart(parts: ShellCommand[]): ShellCommand {
  const [part, ...others] = parts;
  if (part === undefined || others.length > 0) throw new Error("One command was expected.");
  return part;
}
