/** What the documents say to type for CDK: the synth is run, what changes an account is held against the help of the pinned CDK. */
import { describe, it } from "@jest/globals";
import { cdkCommands } from "./commands/cdk.ts";
import { parseCommand } from "./commands/shell-line.ts";

describe("a command of the documents for CDK is one that there is", () => {
  it.each(cdkCommands)("$command", ({ command, look }) => look(parseCommand(command)), 120_000);
});
