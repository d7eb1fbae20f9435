/** Runs the commands that the documents say to type on one machine and against an Execution endpoint. */
import { afterAll, afterEach, describe, it } from "@jest/globals";
import { endpoints } from "./commands/endpoints.ts";
import { exampleRuns } from "./commands/examples.ts";
import { openMachine } from "./commands/machine.ts";
import { oneMachine } from "./commands/one-machine.ts";
import { parseCommand } from "./commands/shell-line.ts";
import { vouched } from "./commands/vouched.ts";

const world = openMachine();
afterEach(() => world.endTest());
afterAll(() => world.remove());

describe("a command of the documents does what they say", () => {
  it.each([...oneMachine, ...endpoints, ...vouched, ...exampleRuns])(
    "$command",
    ({ command, run }) => run({ parts: parseCommand(command), world }),
  );
});
