import { describe, expect, it } from "@jest/globals";
import { sampleAsk } from "../task/sample.ts";
import { createWorld, type Fate } from "./world.ts";

const ask = sampleAsk();
const failure = '{"type":"failed","reason":"ambiguous","lost":false}';

/** Steps that one message takes to come to be announced, sent (and accepted), and polled once. */
const announced = 1;
const accepted = 2;
const polled = 3;

/** Past its deadline, and the time after it in which the host may still say so itself. */
const tooLateMs = 16 * 60_000;

async function buriedAfter(
  maxSteps: number,
  { afterMs = tooLateMs, ...options }: Parameters<typeof createWorld>[0] & { afterMs?: number } = {},
) {
  const world = createWorld({ pollsUntilDone: 5, ...options });
  world.deliver(ask);
  await world.run({ maxSteps });
  world.pass(afterMs);
  await world.buryAll();
  return world;
}

describe("a dead letter of a task at work", () => {
  it("fails in the record first, then is canceled at the host by the next wake-up, and only then told in the thread", async () => {
    for (const steps of [accepted, polled]) {
      const world = await buriedAfter(steps);
      const before = world.calls();
      expect(world.cancels).toEqual([]);
      await world.run({ maxSteps: 1 });
      expect(world.calls()).toBe(before + 1);
      expect(world.cancels).toEqual([
        { params: { task_id: "t-1", reason: "undeliverable" }, recordedAs: "delivering", answers: 0 },
      ]);
      expect(world.answers()).toEqual([]);
      await world.run();
      expect(world.answers()).toEqual([failure]);
      expect(world.posts).toHaveLength(1);
    }
  });

  it("is canceled by its request id where the host's own id never came", async () => {
    const world = await buriedAfter(accepted, {
      fate: ({ party, name }): Fate => (party === "host" && name === "execute_task" ? "done_unknown" : "ok"),
    });
    await world.run({ maxSteps: 1 });
    expect(world.cancels).toMatchObject([{ params: { request_id: ask.requestId } }]);
  });

  it("is canceled once, whatever becomes of the worker that does it, and told all the same", async () => {
    for (const fate of ["dies_before", "dies_after"] as const) {
      let left = 1;
      const world = await buriedAfter(polled, {
        fate: ({ name }) => (name === "cancel_task" && left-- > 0 ? fate : "ok"),
      });
      await world.run();
      expect(world.cancels).toHaveLength(fate === "dies_before" ? 0 : 1);
      expect(world.answers()).toEqual([failure]);
    }
  });

  it("is told although the host cannot be reached, or lets nobody cancel", async () => {
    for (const fate of ["refused", "lost", "done_unknown"] as const) {
      const world = await buriedAfter(polled, { fate: ({ name }) => (name === "cancel_task" ? fate : "ok") });
      await world.run();
      expect(world.answers()).toEqual([failure]);
    }
  });

  it("is told once, whichever operation the handler dies of", async () => {
    for (const fate of ["dies_before", "dies_after"] as const) {
      for (let nth = 0; nth < 6; nth++) {
        let seen = 0;
        let isOn = false;
        const world = createWorld({ pollsUntilDone: 5, fate: () => (isOn && seen++ === nth ? fate : "ok") });
        world.deliver(ask);
        await world.run({ maxSteps: polled });
        world.pass(tooLateMs);
        isOn = true;
        await world.buryAll();
        await world.run();
        expect({ fate, nth, answers: world.answers() }).toEqual({ fate, nth, answers: [failure] });
        expect(world.posts).toHaveLength(1);
        expect(world.archive.length).toBeGreaterThan(0);
      }
    }
  });

  it("is kept before anything is changed: what cannot be kept at once comes again as it was", async () => {
    const world = createWorld({ pollsUntilDone: 5 });
    world.deliver(ask);
    await world.run({ maxSteps: polled });
    const before = structuredClone(world.records.get(ask.requestId));
    await expect(world.buryOne({ keep: () => Promise.reject(new Error("the archive is away")) })).rejects.toThrow(
      "away",
    );
    expect(world.records.get(ask.requestId)).toEqual(before);
  });

  it("goes on before its deadline: what was out of reach for a while must not cost a result", async () => {
    for (const steps of [accepted, polled]) {
      const world = await buriedAfter(steps, { afterMs: 0 });
      await world.run();
      expect(world.cancels).toEqual([]);
      expect(world.archive).toHaveLength(1);
      expect(world.answers()).toEqual(["A checkpoint."]);
    }
  });

  it("is kept for an operator", async () => {
    const world = await buriedAfter(polled);
    expect(world.archive.map((body) => JSON.parse(body))).toEqual([
      { type: "wake", requestId: ask.requestId, seq: polled },
    ]);
  });
});

describe("a dead letter of a task that asks", () => {
  const questions = [{ prompt: "Shall I?", options: [{ id: "yes", label: "Yes" }] }];
  const { channel, user, team } = ask.message;
  const buttonClick = { type: "button_click", requestId: ask.requestId, team, channel, user } as const;
  const button = { type: "answer", question: 0, option: 0 } as const;

  it("costs no answer: a question that was not asked yet is asked later", async () => {
    const world = createWorld({ questions });
    world.deliver(ask);
    await world.run({ until: () => world.records.get(ask.requestId)?.state === "asking" });
    await world.buryAll();
    expect(world.questions()).toEqual([]);
    await world.run({ until: () => world.questions().length > 0 });
    world.clickButton({ ...buttonClick, atMs: world.now(), button });
    await world.run();
    expect(world.answers()).toEqual(["A checkpoint."]);
    expect(world.cancels).toEqual([]);
  });

  it("of a click is kept, and changes nothing; of a greeting not even that", async () => {
    const world = createWorld({ questions });
    world.deliver(ask);
    await world.run({ until: () => world.questions().length > 0 });
    const wakes = world.loseMessages();
    expect(wakes).toBe(1);
    world.clickButton({ ...buttonClick, atMs: world.now(), button });
    world.openConversation({
      type: "conversation_opened",
      requestId: ask.requestId,
      team,
      channel,
      user,
      threadTs: ask.message.ts,
    });
    await world.buryAll();
    expect(world.archive.map((body) => JSON.parse(body).type)).toEqual(["button_click"]);
    expect(world.records.get(ask.requestId)?.question?.answer).toBeUndefined();
  });
});

describe("a dead letter", () => {
  it("of a task that was never sent asks nobody to cancel", async () => {
    const world = await buriedAfter(announced);
    await world.run();
    expect(world.cancels).toEqual([]);
    expect(world.answers()).toEqual(['{"type":"failed","reason":"internal","lost":false}']);
  });

  it("of a wish to cancel is kept, and stays a wish: somebody was told that the task is being canceled", async () => {
    const world = createWorld({ pollsUntilDone: 10_000, cancelable: true });
    world.deliver(ask);
    await world.run({ maxSteps: accepted });
    world.cancel(ask.requestId);
    await world.buryAll();
    expect(world.cancels).toEqual([]);
    await world.run();
    expect(world.archive.map((body) => JSON.parse(body).type).sort()).toEqual(["cancel", "wake"]);
    expect(world.answers()).toEqual(['{"type":"failed","reason":"canceled","lost":false}']);
  });

  it("that is none of ours is kept", async () => {
    const world = createWorld();
    world.deliver({ nonsense: true } as never);
    await world.buryAll();
    expect(world.archive).toEqual(['{"nonsense":true}']);
  });

  it("of a link that is finished is not kept, since nothing was lost with it", async () => {
    const world = createWorld();
    world.deliver(ask);
    world.deliver(ask);
    await world.run({ maxSteps: 1 });
    await world.buryAll();
    expect(world.archive.map((body) => JSON.parse(body).type)).toEqual(["wake"]);
  });

  it("whose task could not even be recorded goes on by itself for a week, and is kept once", async () => {
    let isDown = true;
    const world = createWorld({ fate: ({ name }) => (isDown && name === "create" ? "refused" : "ok") });
    world.deliver(ask);
    await world.run({ maxSteps: 3 });
    for (let round = 0; round < 3; round++) await world.buryAll();
    expect(world.archive).toEqual([JSON.stringify(ask)]);
    isDown = false;
    await world.run();
    expect(world.answers()).toEqual(["A checkpoint."]);

    const dayMs = 24 * 3600_000;
    const late = createWorld();
    late.deliver({ ...ask, receivedAtMs: ask.receivedAtMs - 2 * dayMs });
    await late.buryAll();
    await late.run();
    expect(late.archive).toHaveLength(1);
    expect(late.answers()).toEqual([expect.stringContaining("too_old")]);

    const given = createWorld();
    given.deliver({ ...ask, receivedAtMs: ask.receivedAtMs - 8 * dayMs });
    await given.buryAll();
    await given.run();
    expect(given.archive).toHaveLength(1);
    expect(given.posts).toEqual([]);
  });
});
