import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { whyNoDynamoDb } from "../../doubles/aws/emulators.ts";
import { modelSays } from "./aws/bedrock.ts";
import { askAndRead } from "./stories/messages.ts";
import { executionPlace, synthesizeKinds } from "./synthesized.ts";
import type { Assembly } from "./template/assembly.ts";
import { startWorld, type World } from "./world.ts";

const suite = whyNoDynamoDb === undefined ? describe : describe.skip;
const systemProfile = { type: "bedrock", modelId: "eu.anthropic.claude-sonnet-4-5-20250929-v1:0" };
const { account, region } = executionPlace;
const modelId = `arn:aws:bedrock:${region}:${account}:application-inference-profile/abc123def456`;
const applicationProfile = { type: "bedrock", modelId };

suite("an agent of Bedrock", () => {
  const closing: (() => unknown)[] = [];
  let assemblies: Record<"agentcore" | "lambda", Assembly>;

  beforeAll(async () => {
    const { made: stages, remove } = await synthesizeKinds([
      { kind: "agentcore", agent: systemProfile },
      { kind: "lambda", agent: applicationProfile },
    ]);
    closing.push(remove);
    assemblies = { agentcore: stages[0].assembly, lambda: stages[1].assembly };
  });
  afterAll(async () => {
    for (const step of closing.reverse()) await step();
  });

  it.each(["agentcore", "lambda"] as const)(
    "answers on %s with the model's text and needs every Bedrock permission that it has",
    async (kind) => {
      const world: World = await startWorld({ assembly: assemblies[kind] });
      closing.push(world.close);
      await askAndRead(world, "What is a sekisho?", new RegExp(modelSays));
      expect(world.problems).toEqual([]);
      expect(
        world.authority.unused().filter(({ action }) => action.startsWith("bedrock:")),
      ).toEqual([]);
    },
  );
});
