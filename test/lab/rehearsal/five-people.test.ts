/** Five people ask within a second, in a stage with the product's own times and two workers: nobody waits for the others' agents. */
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { defaultSyncBudgetMs } from "@sekisho/config/call-time.ts";
import { stageSchema } from "@sekisho/config/stage-schema.ts";
import type { FakeSlackMessage } from "@sekisho/local/fake-slack/messages.ts";
import { whyNoDynamoDb } from "../../doubles/aws/emulators.ts";
import { askAndRead, logged } from "./stories/messages.ts";
import { synthesizeKinds } from "./synthesized.ts";
import type { Assembly } from "./template/assembly.ts";
import { startWorld, type World } from "./world.ts";

const suite = whyNoDynamoDb === undefined ? describe : describe.skip;
const people = 5;
/** The time after which a person wonders whether the bot is there. */
const maxWaitMs = 3000;

suite("a stage whose workers are all at a first call", () => {
  const closing: (() => unknown)[] = [];
  let assemblies: Record<"agentcore" | "lambda", Assembly>;

  beforeAll(async () => {
    const common = { hasDefaultTimes: true, onlyHome: true };
    const { made: stages, remove } = await synthesizeKinds([
      { kind: "agentcore", ...common },
      { kind: "lambda", ...common },
    ]);
    closing.push(remove);
    assemblies = { agentcore: stages[0].assembly, lambda: stages[1].assembly };
  });
  afterAll(async () => {
    for (const step of closing.reverse()) await step();
  });

  it.each(["agentcore", "lambda"] as const)(
    "shows five people on %s the reaction and the placeholder before the first agent is done",
    async (kind) => {
      const world: World = await startWorld({ assembly: assemblies[kind] });
      closing.push(world.close);
      // A cold start is no part of the story.
      await askAndRead(world, "good morning", /good morning/);
      const posts = Array.from({ length: people }, (_, index) =>
        world.ask({ text: `slow 15s, ${index + 1}.` }),
      );
      const isAnswered = ({ message }: (typeof posts)[number]) =>
        world.answersTo(message).some(({ text }) => text.includes("You wrote"));
      const seen = await world.until(
        "reaction and placeholder for each, or the first answer",
        () => {
          const waiting = posts.filter(({ message }) => !seesBot(world, message));
          const answered = posts.filter(isAnswered).length;
          return waiting.length === 0 || answered > 0
            ? { waiting: waiting.length, answered }
            : undefined;
        },
      );
      expect(seen).toEqual({ waiting: 0, answered: 0 });
      // In virtual time the last one waited for the first calls that were over before, which each worker made one after the other.
      const { workerConcurrency } = stageSchema.shape.scale.parse({});
      const before = posts.flatMap(({ requestId }) =>
        logged(world, {
          request_id: requestId,
          message: "call_answered",
          operation: "execute_task",
        }),
      ).length;
      const rounds = Math.ceil(Math.min(before, people - 1) / workerConcurrency);
      expect(rounds * defaultSyncBudgetMs).toBeLessThanOrEqual(maxWaitMs);
      expect(world.problems).toEqual([]);
    },
    120_000,
  );
});

/** True if the message has the reaction and its thread the placeholder. */
function seesBot(world: World, message: FakeSlackMessage): boolean {
  const [first, ...posts] = world.fakeSlack.thread(message);
  return first !== undefined && first.reactions.length > 0 && posts.length > 0;
}
