import { afterAll, describe, expect, it } from "@jest/globals";
import { whyNoDynamoDb } from "../doubles/aws/emulators.ts";
import { modelSays } from "./aws/models.ts";
import { askAndRead } from "./stories.ts";
import { synthesizeKind } from "./synthesized.ts";
import { readAssembly } from "./template/assembly.ts";
import { startWorld } from "./world.ts";

const closing: (() => unknown)[] = [];

afterAll(async () => {
  for (const step of closing.reverse()) await step();
});

const nowhere = "http://127.0.0.1:9/";
const suite = whyNoDynamoDb === undefined ? describe : describe.skip;

suite(`an agent of Bedrock${whyNoDynamoDb === undefined ? "" : ` (left out: ${whyNoDynamoDb})`}`, () => {
  it.each(["agentcore", "lambda"] as const)(
    "answers on %s with the model's words, and needs all that it may do",
    async (kind) => {
      const agent = { type: "bedrock", modelId: "eu.anthropic.claude-sonnet-4-5-20250929-v1:0" };
      const { folder, remove } = await synthesizeKind({ kind, agent, homeUrl: nowhere, elsewhereUrl: nowhere });
      closing.push(remove);
      const world = await startWorld({ assembly: readAssembly({ folder }) });
      closing.push(world.close);
      await askAndRead(world, "What is a sekisho?", new RegExp(modelSays));
      expect(world.problems).toEqual([]);
      expect(world.authority.unused().filter(({ action }) => action.startsWith("bedrock:"))).toEqual([]);
    },
    90_000,
  );
});
