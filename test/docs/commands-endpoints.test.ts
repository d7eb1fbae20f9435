/** What the documents say to type against an Execution endpoint, typed. */
import { afterAll, afterEach, describe, it } from "@jest/globals";
import { endpoints } from "./commands/endpoints.ts";
import { openMachine } from "./commands/machine.ts";
import { parseCommand } from "./commands/shell-line.ts";
import { vouched } from "./commands/vouched.ts";

const world = openMachine();
afterEach(() => world.endTest());
afterAll(() => world.remove());

describe("a command of the documents, against an endpoint, does what they say", () => {
  it.each([...endpoints, ...vouched])("$command", ({ command, run }) => run({ parts: parseCommand(command), world }));
});
