/** What the documents say to type on one machine, typed. */
import { afterAll, afterEach, describe, it } from "@jest/globals";
import { openMachine } from "./commands/machine.ts";
import { oneMachine } from "./commands/one-machine.ts";
import { parseCommand } from "./commands/shell-line.ts";

const world = openMachine();
afterEach(() => world.endTest());
afterAll(() => world.remove());

describe("a command of the documents, on one machine, does what they say", () => {
  it.each(oneMachine)("$command", ({ command, run }) => run({ parts: parseCommand(command), world }));
});
