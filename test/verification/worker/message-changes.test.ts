/** Edits and deletions: before the message is handled, while its task waits for its turn, and when it is too late. */
import { describe, expect, it } from "@jest/globals";
import { SekishoError } from "@sekisho/contracts/errors.ts";
import type { MessageChange, UserMessage } from "@sekisho/verification/task/messages.ts";
import { askedAtMs, numberedAsk } from "../task/sample.ts";
import { createWorld } from "./world.ts";
import { deaths } from "./world-fates.ts";

const threadTs = `${askedAtMs / 1000}.000001`;
const first = numberedAsk(1, { threadTs });
const ask = numberedAsk(2, { threadTs, ts: `${askedAtMs / 1000}.000900`, text: "Who kept it?" });

function changeOf(of: typeof ask, message: Partial<UserMessage>, isDeleted?: true): MessageChange {
  const editedTs = `${askedAtMs / 1000 + 5}.000100`;
  const { retryOf: _none, ...asked } = of;
  return {
    ...asked,
    type: "message_change",
    receivedAtMs: askedAtMs + 5000,
    message: { ...of.message, editedTs, ...message },
    ...(isDeleted && { isDeleted }),
  };
}
const edited = (of = ask, text = "Until when?", editedTs?: string) =>
  changeOf(of, { text, ...(editedTs === undefined ? {} : { editedTs }) });
const deleted = (of = ask) => changeOf(of, { text: "" }, true);

type World = ReturnType<typeof createWorld>;
const late = ({ posts }: World) =>
  posts.filter(({ key }) => key?.kind === "late_change").map(({ text }) => text);
const textsSent = ({ sent }: World) => sent.map(({ text }) => text);
const stateOf = (world: World, { requestId } = ask) => world.records.get(requestId)?.state;
const untilQueued = (world: World) => ({
  until: () => stateOf(world) === "queued" && !world.taskOf(ask)?.lease,
});

describe("a change of a message that was not handled yet", () => {
  it.each(["before", "behind"])(
    "takes its place, in the queue %s it: the new text is sent, once",
    async (where) => {
      const world = createWorld();
      world.queueRaw(JSON.stringify(where === "before" ? edited(first) : first));
      await world.run({ maxSteps: where === "before" ? 1 : 0 });
      world.queueRaw(JSON.stringify(where === "before" ? first : edited(first)));
      await world.run();
      expect(textsSent(world)).toEqual([where === "before" ? "Until when?" : first.message.text]);
      expect(world.answers()).toHaveLength(1);
    },
  );

  it("leaves nothing of a deleted one, and the message that comes after it is not handled", async () => {
    const world = createWorld();
    await world.deliver(deleted(first)).run();
    await world.deliver(first).run();
    expect(world.sent).toEqual([]);
    expect(world.posts).toEqual([]);
    expect(world.taskOf(first)).toMatchObject({
      state: "done",
      message: { text: "" },
    });
  });

  it("leaves nothing of a deleted one wherever the worker dies", async () => {
    for (const fate of deaths) {
      for (let died = 1; died < 6; died++) {
        let operations = 0;
        const world = createWorld({ fate: () => (++operations === died ? fate : "ok") });
        // Slack's event of the message comes when the other one was tried once.
        await world.deliver(deleted(first)).run({ maxSteps: 1 });
        if (world.records.size === 0) continue;
        await world.deliver(first).run();
        expect([world.sent, world.posts, world.ephemeralMessages]).toEqual([[], [], []]);
      }
    }
  });

  it("waits as the message does until it is known whether its thread is one of the bot", async () => {
    const unaddressed = (message: MessageChange): MessageChange => ({
      ...message,
      message: { ...message.message, unaddressed: true },
    });
    const world = createWorld();
    world.queueRaw(JSON.stringify(unaddressed(edited())));
    await world.run({ maxSteps: 1 });
    expect(stateOf(world)).toBeUndefined();
    await world.deliver(first).run();
    expect(textsSent(world)).toEqual([first.message.text, "Until when?"]);
    const elsewhere = createWorld();
    elsewhere.queueRaw(JSON.stringify(unaddressed(deleted())));
    await elsewhere.run();
    expect(elsewhere.taskOf(ask)).toBeUndefined();
  });

  it("of an old message whose record has expired does nothing", async () => {
    const world = createWorld();
    const old = {
      ...first,
      message: { ...first.message, ts: `${askedAtMs / 1000 - 25 * 3600}.000100` },
    };
    world.queueRaw(JSON.stringify(edited(old)));
    await world.run();
    expect([world.records.size, world.posts.length]).toEqual([0, 0]);
  });

  it("by deletion leaves no record of somebody who may not ask, not even of the first one, which is told why", async () => {
    // As the gate does for a stranger: only what did not speak to the bot is dropped at once.
    const world = createWorld({
      gate: { isIgnored: async ({ message }) => message.unaddressed === true },
    });
    await world.deliver(deleted()).run();
    expect(world.records.size).toBe(0);
    await world.deliver(edited()).run();
    expect(world.records.size).toBe(1);
  });

  it("is of no use to somebody who may not ask", async () => {
    const world = createWorld({ gate: { isIgnored: async () => true } });
    for (const change of [edited(), deleted()]) world.deliver(change);
    await world.run();
    expect(world.records.size).toBe(0);
  });
});

describe("a change of a message whose task waits for its turn", () => {
  async function whileQueued(...changes: MessageChange[]) {
    const world = createWorld({ pollsUntilDone: 3 });
    world.deliver(first);
    await world.deliver(ask).run(untilQueued(world));
    for (const change of changes) world.deliver(change);
    await world.run();
    return world;
  }

  it("counts in the order of the edits, whatever the order of the queue, and once", async () => {
    const [older, newer] = [
      edited(ask, "Older?", "1760000006.1"),
      edited(ask, "Newer?", "1760000007.1"),
    ];
    for (const changes of [
      [older, newer],
      [newer, older, newer],
    ]) {
      const world = await whileQueued(...changes);
      expect(textsSent(world)).toEqual([first.message.text, "Newer?"]);
      expect(late(world)).toEqual([]);
    }
  });

  it("cancels it where it is deleted, and its placeholder says so", async () => {
    const world = await whileQueued(deleted());
    expect(textsSent(world)).toEqual([first.message.text]);
    expect(world.answers()).toContain('{"type":"failed","reason":"canceled","lost":false}');
    expect(world.posts.filter(({ key }) => key?.requestId === ask.requestId)).toHaveLength(1);
    expect(late(world)).toEqual([]);
  });

  it("and the send: one of them is first, by the record, wherever the worker dies", async () => {
    const lates = new Set<boolean>();
    for (let died = 1; died < 30; died++) {
      let operations = 0;
      let isArmed = false;
      const world = createWorld({
        pollsUntilDone: 3,
        fate: () => (isArmed && ++operations === died ? "dies_after" : "ok"),
      });
      world.deliver(first);
      await world.deliver(ask).run(untilQueued(world));
      isArmed = true;
      for (const change of [edited(), deleted(first)]) world.deliver(change);
      await world.run();
      const texts = textsSent(world).filter((text) => text !== first.message.text);
      expect([["Until when?"], ["Who kept it?"]]).toContainEqual([...new Set(texts)]);
      expect(world.starts.filter((id) => id === ask.requestId)).toHaveLength(1);
      const isLate = texts[0] === "Who kept it?";
      expect(world.taskOf(ask)?.lateChange).toBe(isLate ? "edited" : undefined);
      expect(late(world).filter((text) => text.includes("edited")).length).toBeLessThanOrEqual(
        isLate ? 1 : 0,
      );
      lates.add(isLate);
    }
    // Both have happened.
    expect(lates.size).toBe(2);
  });
});

describe("a change that comes too late", () => {
  async function afterSend(...changes: MessageChange[]) {
    const world = createWorld({ pollsUntilDone: 5 });
    await world.deliver(first).run({ until: () => stateOf(world, first) === "waiting" });
    for (const change of changes) world.deliver(change);
    await world.run();
    return world;
  }

  it("is said in the thread once, and the task goes on with the text that it had", async () => {
    const later = edited(first, "And then?", `${askedAtMs / 1000 + 9}.1`);
    const world = await afterSend(edited(first), edited(first), later);
    expect(late(world)).toEqual(["It was edited too late."]);
    expect(textsSent(world)).toEqual([first.message.text]);
    expect(world.answers()).toEqual(["A checkpoint."]);
  });

  it("is said of a deletion, too, also after an edit, and then no more", async () => {
    const world = await afterSend(edited(first), deleted(first), deleted(first));
    expect(late(world)).toEqual(["It was edited too late.", "It was deleted too late."]);
    expect(world.answers()).toEqual(["A checkpoint."]);
  });

  it("is not said to another bot, which might answer", async () => {
    const world = createWorld({ pollsUntilDone: 5 });
    const ofBot = { ...first, message: { ...first.message, botIds: ["B2"] } };
    await world.deliver(ofBot).run({ until: () => stateOf(world, first) === "waiting" });
    for (const change of [edited(ofBot), deleted(ofBot)]) world.deliver(change);
    await world.run();
    expect([late(world), world.answers()]).toEqual([[], ["A checkpoint."]]);
  });

  it("is not said of an edit that changes nothing", async () => {
    expect(late(await afterSend(edited(first, first.message.text)))).toEqual([]);
  });

  it("is said of an edit for as long as the answer is new, and of a deletion while there is something to cancel", async () => {
    const world = createWorld();
    await world.deliver(first).run({ until: () => stateOf(world, first) === "done" });
    for (const change of [deleted(first), edited(first)]) world.deliver(change);
    await world.run();
    expect(late(world)).toEqual(["It was edited too late."]);
    const old = createWorld();
    await old.deliver(first).run();
    await old.deliver(edited(first)).run();
    expect(late(old)).toEqual([]);
  });

  it("is not said of an edit below a failure that can be tried again, because that takes the new text", async () => {
    const story = () => {
      throw new SekishoError("execution_failed");
    };
    const world = createWorld({ story });
    await world.deliver(first).run({ until: () => stateOf(world, first) === "done" });
    await world.deliver(edited(first)).run();
    expect(late(world)).toEqual([]);
  });

  it("is left unsaid where Slack does not take it, and costs the task nothing", async () => {
    const world = createWorld({
      pollsUntilDone: 5,
      fate: ({ name }) => (name === "post" && isLate ? "refused" : "ok"),
    });
    let isLate = false;
    await world.deliver(first).run({ until: () => stateOf(world, first) === "waiting" });
    isLate = true;
    world.queueRaw(JSON.stringify(edited(first)));
    await world.run({ maxSteps: 1 });
    isLate = false;
    await world.run();
    expect([late(world), world.answers()]).toEqual([[], ["A checkpoint."]]);
  });
});

describe("a change that the queue gave up on", () => {
  it("is kept for an operator, and tried again while it can take effect", async () => {
    const world = createWorld({ pollsUntilDone: 1000 });
    world.deliver(first);
    await world.deliver(ask).run(untilQueued(world));
    const others = world.loseMessages();
    expect(others).toBeGreaterThan(0);
    world.queueRaw(JSON.stringify(edited()));
    await world.buryAll();
    expect(world.archive.map((body) => JSON.parse(body))).toMatchObject([
      { type: "message_change" },
    ]);
    await world.run({ maxSteps: 1 });
    expect(world.taskOf(ask)?.message.text).toBe("Until when?");
  });

  it("takes the place of a message that was never handled", async () => {
    const world = createWorld();
    world.queueRaw(JSON.stringify(edited(first)));
    await world.buryAll();
    await world.run();
    expect(textsSent(world)).toEqual(["Until when?"]);
  });
});
