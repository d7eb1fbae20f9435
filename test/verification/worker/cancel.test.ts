/** A person or an operator wants a task to end. */
import { describe, expect, it } from "@jest/globals";
import { createWorld } from "../../world/world.ts";
import { askedAtMs, numberedAsk } from "../task/sample.ts";

const threadTs = `${askedAtMs / 1000}.000001`;
const ask = numberedAsk(1, { threadTs });
const wish = numberedAsk(2, { threadTs, ts: `${askedAtMs / 1000}.000900`, text: "Cancel" });
const bare = { ...wish, message: { ...wish.message, unaddressed: true as const } };

/** The bot has been asked in the thread before, and nothing is under way. */
async function afterAnAnswer(options: Parameters<typeof createWorld>[0] = {}) {
  const world = createWorld(options);
  await world.deliver(ask).run();
  return world;
}

describe("the word to cancel, alone in a thread", () => {
  it("cancels the running task at the host and answers both messages", async () => {
    const world = createWorld({ pollsUntilDone: 1000, cancelable: true });
    await world.deliver(ask).run({ maxSteps: 5 });
    expect(world.taskOf(ask)?.state).toBe("waiting");
    for (const text of [wish, bare]) world.deliver(text);
    await world.run();
    expect(world.cancels).toMatchObject([{ params: { task_id: "t-1", reason: "asked" } }]);
    expect(world.taskOf(ask)?.outcome).toMatchObject({
      type: "failed",
      reason: "canceled",
    });
    expect(world.answers().sort()).toEqual([
      '{"type":"canceling","count":1}',
      '{"type":"failed","reason":"canceled","lost":false}',
    ]);
  });

  it("cancels a queued task without asking the host", async () => {
    const world = createWorld({ pollsUntilDone: 1000, cancelable: true });
    world.deliver(ask);
    await world
      .deliver(numberedAsk(3, { threadTs, ts: `${askedAtMs / 1000}.000200` }))
      .run({ maxSteps: 8 });
    await world.deliver(wish).run();
    expect(world.cancels).toHaveLength(1);
    expect(world.starts).toEqual([ask.requestId]);
    expect(world.answers().filter((text) => text.includes('"canceled"'))).toHaveLength(2);
    expect(world.answers()).toContain('{"type":"canceling","count":2}');
  });

  it("acknowledges the first cancel in the thread and later ones only to their writer", async () => {
    const world = createWorld({ pollsUntilDone: 1000, cancelable: true });
    await world.deliver(ask).run({ maxSteps: 5 });
    for (let n = 100; n < 140; n++) {
      world.deliver(
        numberedAsk(n, { threadTs, ts: `${Number(wish.message.ts) + n / 1000}`, text: "Cancel" }),
      );
    }
    await world.run();
    const acknowledged = world.answers().filter((text) => text.includes("canceling"));
    expect(acknowledged).toEqual(['{"type":"canceling","count":1}']);
    expect(world.posts).toHaveLength(2);
  });

  it("ends an asking task soon after a cancel whose worker died", async () => {
    let hasDied = false;
    const world = createWorld({
      cancelable: true,
      questions: [{ prompt: "Shall I?", options: [{ id: "yes", label: "Yes" }] }],
      fault: ({ name }) => {
        if (hasDied || name !== "post" || world.cancels.length === 0) return;
        hasDied = true;
        return "dies_before";
      },
    });
    const record = () => world.taskOf(ask);
    await world
      .deliver(ask)
      .run({ until: () => record()?.question?.ts !== undefined && record()?.lease === undefined });
    await world.deliver(wish).run();
    expect(hasDied).toBe(true);
    expect(record()?.outcome).toMatchObject({ type: "failed", reason: "canceled" });
    const atMs = (state: string) =>
      record()?.history.find((step) => step.state === state)?.atMs ?? 0;
    expect(atMs("done") - atMs("asking")).toBeLessThan(95_000);
  });

  it("leaves tasks of other people running when a stranger says cancel", async () => {
    const world = createWorld({ pollsUntilDone: 3, cancelable: true });
    await world.deliver(ask).run({ maxSteps: 5 });
    await world.deliver({ ...wish, message: { ...wish.message, user: "USTRANGER" } }).run();
    expect(world.cancels).toEqual([]);
    expect(world.answers()).toEqual(["A checkpoint."]);
    expect(world.ephemeralMessages.map(({ user, text }) => [user, text])).toEqual([
      ["USTRANGER", '{"type":"canceling","count":0}'],
    ]);
  });

  it("tells only the writer that nothing is running, and ignores an unaddressed cancel", async () => {
    const world = createWorld();
    await world.deliver(wish).run();
    expect(world.ephemeralMessages.map(({ text }) => text)).toEqual([
      '{"type":"canceling","count":0}',
    ]);
    expect(world.posts).toEqual([]);
    const quiet = await afterAnAnswer();
    await quiet.deliver(bare).run();
    expect(quiet.answers()).toEqual(["A checkpoint."]);
    expect(quiet.taskOf(bare)).toMatchObject({ state: "done", cleanupDone: true });
  });
});

describe("a message that speaks to nobody", () => {
  const late = 25 * 3600_000;

  it("never answers an unaddressed message that is old, refused, retried or a dead letter", async () => {
    const old = await afterAnAnswer();
    old.deliver(bare);
    old.pass(late);
    await old.run();
    let isAway = false;
    const worldAfterAnswer = await afterAnAnswer({
      fault: ({ name }) => isAway && name === "replace" && "refused",
    });
    isAway = true;
    await worldAfterAnswer.deliver(bare).run({ maxSteps: 1 });
    expect(worldAfterAnswer.taskOf(bare)?.state).toBe("received");
    isAway = false;
    await worldAfterAnswer.deadLetterAll();
    await worldAfterAnswer.run();
    const again = await afterAnAnswer({
      policy: { threadReplies: false },
      inSlack: [{ ts: bare.message.ts, text: "Delete everything" }],
    });
    await again
      .deliver({ ...bare, retryOf: ask.requestId, message: { ...bare.message, text: "" } })
      .run();
    for (const world of [old, worldAfterAnswer, again]) {
      expect([world.posts.length, world.starts]).toEqual([1, [ask.requestId]]);
      expect(world.taskOf(bare)).toMatchObject({ state: "done", cleanupDone: true });
    }
  });
});

describe("canceling", () => {
  it("changes nothing for a task that is over or unknown", async () => {
    const world = createWorld();
    await world.deliver(ask).run();
    const taskCopy = structuredClone(world.taskOf(ask));
    world.cancel(ask.requestId);
    await world.cancel("00000000-0000-5000-8000-00000000000f").run();
    expect(world.taskOf(ask)).toEqual(taskCopy);
    expect(world.cancels).toEqual([]);
  });

  it("cancels at the host while a worker waits for its response", async () => {
    const callStart = Promise.withResolvers<void>();
    const answer = Promise.withResolvers<void>();
    const world = createWorld({
      cancelable: true,
      fault: async ({ name }): Promise<undefined> => {
        if (name === "execute_task") {
          callStart.resolve();
          await answer.promise;
        }
        if (name === "cancel_task") answer.resolve();
      },
    });
    world.deliver(ask);
    const sending = world.handleDue();
    await callStart.promise;
    world.cancel(ask.requestId);
    await world.handleDue();
    await sending;
    expect(world.cancels).toMatchObject([
      { params: { request_id: ask.requestId, reason: "asked" } },
    ]);
  });
});

describe("a wish to cancel that comes while a worker holds a task that waits", () => {
  it("cancels a waiting task soon after a cancel that meets a worker at the end of its poll", async () => {
    let isLast = false;
    const world = createWorld({
      pollsUntilDone: 1000,
      cancelable: true,
      policy: { deadlineMs: 8 * 3600_000 },
      async fault({ party, name }): Promise<undefined> {
        // The worker has its answer, and sends the next wake-up, which is minutes away.
        if (!isLast || party !== "queue" || name !== "send") return;
        isLast = false;
        world.cancel(ask.requestId);
        await world.handleDue();
      },
    });
    const record = () => world.taskOf(ask);
    await world
      .deliver(ask)
      .run({ until: () => record()?.wait?.polls === 50 && record()?.lease === undefined });
    world.pass(5000);
    isLast = true;
    await world.push(JSON.stringify({ request_id: ask.requestId, task_id: "t-1" }));
    expect(isLast).toBe(false);
    const canceledAtMs = world.now();
    await world.run({ until: () => record()?.outcome !== undefined });
    expect(record()?.outcome).toMatchObject({ reason: "canceled" });
    expect(world.now() - canceledAtMs).toBeLessThan(60_000);
    await world.run();
    expect(world.answers()).toEqual(['{"type":"failed","reason":"canceled","lost":false}']);
  });
});
