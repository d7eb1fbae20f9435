import { describe, expect, it } from "@jest/globals";
import { sampleAsk } from "../task/sample.ts";
import { createWorld, type Fate } from "./world.ts";

const ask = sampleAsk();

describe("a redrive", () => {
  it("lets a task go on whose wake-up is gone, wherever it stands, to one answer from one run", async () => {
    for (let steps = 1; steps < 9; steps++) {
      const world = createWorld({ pollsUntilDone: 3 });
      world.deliver(ask);
      await world.run({ maxSteps: steps });
      world.loseMessages();
      world.redrive(ask.requestId);
      await world.run();
      expect({ steps, answers: world.answers() }).toEqual({ steps, answers: ["A checkpoint."] });
      expect(world.posts).toHaveLength(1);
      expect(world.starts).toHaveLength(1);
      expect(world.records.get(ask.requestId)).toMatchObject({ state: "done", cleanupDone: true });
    }
  });

  it("doubles nothing where the task has its wake-up, at whatever moment it comes", async () => {
    for (let steps = 0; steps < 12; steps++) {
      const world = createWorld({ pollsUntilDone: 3 });
      world.deliver(ask);
      await world.run({ maxSteps: steps });
      world.redrive(ask.requestId);
      world.redrive(ask.requestId);
      await world.runTwiceAtOnce();
      await world.run();
      expect({ steps, answers: world.answers() }).toEqual({ steps, answers: ["A checkpoint."] });
      expect(world.posts).toHaveLength(1);
      expect(world.starts).toHaveLength(1);
      expect(world.doubled()).toBe(0);
    }
  });

  it("of a task that has ended repeats its delivery: what is missing is posted, nothing is doubled, nothing is run", async () => {
    const story = () => ({ status: "success", response_text: "one|two" }) as const;
    for (const isDeleted of [true, false]) {
      const world = createWorld({ story });
      world.deliver(ask);
      while (world.records.get(ask.requestId)?.state !== "done") await world.run({ maxSteps: 1 });
      if (isDeleted) world.deletePosts();
      world.redrive(ask.requestId);
      await world.run();
      expect(world.answers()).toEqual(["one", "two"]);
      expect(world.posts).toHaveLength(2);
      expect(world.starts).toHaveLength(1);
    }
  });

  it("of a failure repeats its delivery also when all is swept", async () => {
    const world = createWorld({ pollsUntilDone: 5 });
    world.deliver(ask);
    await world.run({ maxSteps: 3 });
    world.pass(16 * 60_000);
    await world.buryAll();
    await world.run();
    expect(world.records.get(ask.requestId)).toMatchObject({ state: "done", cleanupDone: true });
    const told = world.answers();
    world.deletePosts();
    world.redrive(ask.requestId);
    await world.run();
    expect(world.answers()).toEqual(told);
    expect(world.posts).toHaveLength(1);
  });

  it("changes nothing once the texts are forgotten", async () => {
    const world = createWorld();
    world.deliver(ask);
    await world.run();
    world.redrive(ask.requestId);
    await world.run();
    expect(world.answers()).toEqual(["A checkpoint."]);
    expect(world.posts).toHaveLength(1);
  });

  it("waits while a worker holds the task", async () => {
    let sends = 0;
    const world = createWorld({
      fate: async ({ name }): Promise<Fate> => {
        if (name !== "execute_task" || sends++ > 0) return "ok";
        world.redrive(ask.requestId);
        await world.handleDue();
        return "ok";
      },
    });
    world.deliver(ask);
    await world.run();
    expect(sends).toBe(1);
    expect(world.groups).toStrictEqual(new Set([`${ask.message.team}/host`]));
    expect(world.answers()).toEqual(["A checkpoint."]);
  });

  it("of an unknown task is dropped; as a dead letter it is kept and changes nothing", async () => {
    const world = createWorld();
    world.redrive(ask.requestId);
    await world.run();
    expect(world.posts).toEqual([]);

    world.deliver(ask);
    await world.run({ maxSteps: 2 });
    const before = structuredClone(world.records.get(ask.requestId));
    world.loseMessages();
    world.redrive(ask.requestId);
    await world.buryAll();
    expect(world.archive).toHaveLength(1);
    expect(world.records.get(ask.requestId)).toEqual(before);
  });

  it("of an answer that Slack cannot be given keeps its promise of one answer", async () => {
    let isDown = true;
    const world = createWorld({ fate: ({ party }) => (isDown && party === "slack" ? "refused" : "ok") });
    world.deliver(ask);
    await world.run({ maxSteps: 4 });
    world.loseMessages();
    isDown = false;
    world.redrive(ask.requestId);
    await world.run();
    expect(world.answers()).toEqual(["A checkpoint."]);
  });

  it("lets a task go on that asks: before the question is there, while it is open, and once it is answered", async () => {
    const options = [{ id: "yes", label: "Yes" }];
    for (let steps = 1; steps < 5; steps++) {
      const world = createWorld({ pollsUntilDone: 1, questions: [{ prompt: "Shall I?", options }] });
      world.deliver(ask);
      await world.run({ maxSteps: steps });
      world.loseMessages();
      world.redrive(ask.requestId);
      const question = () => world.records.get(ask.requestId)?.question;
      await world.run({ until: () => question()?.ts !== undefined });
      const button = { type: "answer", question: 0, option: 0 } as const;
      const { channel, user, team } = ask.message;
      world.clickButton({
        type: "button_click",
        requestId: ask.requestId,
        team,
        channel,
        user,
        atMs: world.now(),
        button,
      });
      await world.run({ until: () => question()?.answer !== undefined });
      world.loseMessages();
      world.redrive(ask.requestId);
      await world.run();
      expect({ steps, texts: world.posts.map(({ text }) => text) }).toEqual({
        steps,
        texts: ["Shall I? U1: 0", "A checkpoint."],
      });
      expect(world.given).toHaveLength(1);
      expect(world.doubled()).toBe(0);
    }
  });
});
