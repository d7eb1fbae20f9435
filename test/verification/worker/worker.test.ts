import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { SekishoError } from "../../../contracts/errors.ts";
import { sampleAsk } from "../task/sample.ts";
import { createWorld, type Fate, type Operation } from "./world.ts";

const ask = sampleAsk();

/** The fate of the `nth` operation that fits; all others are ok. */
function once({ party, name, nth = 0 }: { party: Operation["party"]; name?: string; nth?: number }, fate: Fate) {
  let seen = 0;
  return (operation: Operation): Fate =>
    operation.party === party && (name === undefined || operation.name === name) && seen++ === nth ? fate : "ok";
}

describe("the worker", () => {
  it("brings one message to one answer and leaves nothing else in the thread", async () => {
    const world = createWorld();
    world.deliver(ask);
    await world.run();
    expect(world.posts.map(({ text, key }) => [key?.part, text])).toEqual([[1, "A checkpoint."]]);
    expect(world.starts).toHaveLength(1);
    expect(world.records.get(ask.requestId)).toMatchObject({ state: "done", cleanupDone: true });
    expect(world.records.get(ask.requestId)?.lease).toBeUndefined();
  });

  it("answers ten deliveries of the same message once", async () => {
    const world = createWorld({ pollsUntilDone: 3 });
    for (let i = 0; i < 10; i++) world.deliver({ ...ask, receivedAtMs: ask.receivedAtMs + i });
    await world.run();
    expect(world.answers()).toEqual(["A checkpoint."]);
    expect(world.starts).toHaveLength(1);
  });

  it("does not act twice when two workers hold the same message at once", async () => {
    const world = createWorld();
    world.deliver(ask);
    await world.runTwiceAtOnce();
    await world.run();
    expect(world.answers()).toEqual(["A checkpoint."]);
    expect(world.posts).toHaveLength(1);
    expect(world.starts).toHaveLength(1);
  });

  it("tells a failure in the thread", async () => {
    const world = createWorld({
      story: () => {
        throw new SekishoError("execution_failed", { details: { lost: true } });
      },
    });
    world.deliver(ask);
    await world.run();
    expect(world.answers()).toEqual(['{"type":"failed","reason":"execution_failed","lost":true}']);
  });

  it("posts only part 2 again when the post of part 2 failed", async () => {
    const story = () => ({ status: "success", response_text: "one|two|three" }) as const;
    for (const fate of ["refused", "lost", "done_unknown", "late", "dies_before", "dies_after"] as const) {
      const world = createWorld({ story, fate: once({ party: "slack", name: "post", nth: 1 }, fate) });
      world.deliver(ask);
      await world.run();
      expect(world.answers().sort()).toEqual(["one", "three", "two"]);
    }
  });

  it("goes on after a crash at any single point, and each message still gets one answer from one run", async () => {
    for (const fate of ["dies_before", "dies_after"] as const) {
      for (let nth = 0; nth < 60; nth++) {
        let seen = 0;
        const world = createWorld({ pollsUntilDone: 2, fate: () => (seen++ === nth ? fate : "ok") });
        world.deliver(ask);
        await world.run();
        expect({ fate, nth, answers: world.answers(), posts: world.posts.length }).toEqual({
          fate,
          nth,
          answers: ["A checkpoint."],
          posts: 1,
        });
        expect(world.starts).toHaveLength(1);
        expect(world.underWay.size).toBe(0);
        expect(world.doubled()).toBe(0);
      }
    }
  });

  it("leaves a task alone while another worker acts on it", async () => {
    for (const during of ["post", "execute_task", "update"]) {
      const calls: string[] = [];
      const world = createWorld({
        fate: async ({ party, name }): Promise<Fate> => {
          if (party === "slack" || party === "host") calls.push(name);
          if (name !== during || calls.filter((call) => call === during).length > 1) return "ok";
          world.deliver(ask);
          await world.handleDue();
          return "ok";
        },
      });
      world.deliver(ask);
      await world.run();
      expect(calls.filter((call) => call === during)).toEqual([during]);
      expect(world.answers()).toEqual(["A checkpoint."]);
    }
  });

  it("keeps its promise through faults of every kind at random points, on a host that deduplicates", async () => {
    const fates = fc.constantFrom<Fate>("refused", "lost", "done_unknown", "late", "dies_before", "dies_after");
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.nat({ max: 60 }), fates), { maxLength: 6 }),
        fc.nat({ max: 3 }),
        fc.nat({ max: 3 }),
        async (faults, pollsUntilDone, redeliveries) => {
          const plan = new Map(faults);
          let seen = 0;
          const world = createWorld({ pollsUntilDone, fate: () => plan.get(seen++) ?? "ok" });
          for (let i = 0; i <= redeliveries; i++) world.deliver(ask);
          await world.run();
          expect(world.answers()).toEqual(["A checkpoint."]);
          expect(world.posts).toHaveLength(1);
          expect(world.starts).toHaveLength(1);
        },
      ),
      { numRuns: 400 },
    );
  });

  it("never starts the agent twice at a peer that does not deduplicate, and never stays silent", async () => {
    const fates = fc.constantFrom<Fate>("refused", "lost", "done_unknown", "dies_before", "dies_after");
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.nat({ max: 40 }), fates), { maxLength: 5 }),
        fc.nat({ max: 2 }),
        async (faults, pollsUntilDone) => {
          const plan = new Map(faults);
          let seen = 0;
          const world = createWorld({ pollsUntilDone, idempotent: false, fate: () => plan.get(seen++) ?? "ok" });
          world.deliver(ask);
          await world.run();
          expect(world.answers()).toHaveLength(1);
          expect(world.starts.length).toBeLessThanOrEqual(1);
        },
      ),
      { numRuns: 400 },
    );
  });

  it("gives back a queue message that is none of ours, so that it becomes a dead letter that somebody sees", async () => {
    const world = createWorld();
    world.deliver({ nonsense: true } as never);
    await world.run({ maxSteps: 3 });
    expect(world.loseMessages()).toBe(1);
  });

  it("leaves no part of an answer in the thread whose rest Slack refuses: words of its own are the answer", async () => {
    const world = createWorld({
      story: () => ({ status: "success", response_text: "one|two" }),
      refuses: ({ text }) => text === "two",
    });
    world.deliver(ask);
    await world.run();
    expect(world.answers()).toEqual([expect.stringContaining('"reason":"internal"')]);
    expect(world.posts).toHaveLength(1);
  });

  it("gives the answer without blocks where Slack takes none, and leaves nothing of the first try", async () => {
    const world = createWorld({
      story: () => ({ status: "success", response_text: "one|two" }),
      refuses: ({ text, blocks }) => text === "two" && blocks !== undefined,
    });
    world.deliver(ask);
    await world.run();
    expect(world.posts.map(({ text, hasBlocks }) => [text, hasBlocks])).toEqual([
      ["one", false],
      ["two", false],
    ]);
  });

  it("drops a wake-up whose task is gone", async () => {
    const world = createWorld();
    world.deliver({ type: "wake", requestId: ask.requestId, seq: 3 } as never);
    await world.run();
    expect(world.posts).toEqual([]);
  });

  it("turns a dead letter into a failure in words, and never replaces an outcome that is known", async () => {
    const buriedAt = async (maxSteps: number) => {
      const world = createWorld({ pollsUntilDone: 5 });
      world.deliver(ask);
      await world.run({ maxSteps });
      await world.buryAll();
      await world.run();
      expect(world.posts).toHaveLength(1);
      expect(world.starts.length).toBeLessThanOrEqual(1);
      return world.answers()[0];
    };
    expect(await buriedAt(0)).toBe("A checkpoint.");
    expect(await buriedAt(1)).toContain('"reason":"internal"');
    for (const steps of [2, 3, 5, 7, 8]) expect(await buriedAt(steps)).toBe("A checkpoint.");
  });

  it("sends its messages in the turn of the task's workspace and destination", async () => {
    const world = createWorld({ pollsUntilDone: 2 });
    world.deliver(ask);
    await world.runTwiceAtOnce();
    await world.run();
    expect(world.groups).toStrictEqual(new Set([ask.message.team, `${ask.message.team}/host`]));
  });
});
