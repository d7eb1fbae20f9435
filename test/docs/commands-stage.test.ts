/** Runs the commands that the documents say to type for a stage on AWS. */
import { afterAll, afterEach, beforeAll, describe, it } from "@jest/globals";
import { parseCommand } from "./commands/shell-line.ts";
import { stage } from "./commands/stage.ts";
import { openStageWorld, type StageWorld } from "./commands/stage-world.ts";

let world: StageWorld;
beforeAll(async () => {
  world = await openStageWorld();
});
afterEach(() => world.endTest());
afterAll(() => world.remove());

describe("a command of the documents, for a stage, does what they say", () => {
  it.each(stage)("$command", ({ command, run }) => run({ parts: parseCommand(command), world }));
});
