/** Edits and deletions: before the message is handled, while its task waits for its turn, and when it is too late. */
import { describe, expect, it } from "@jest/globals";
import { SekishoError } from "@sekisho/contracts/errors.ts";
import type { MessageChange, UserMessage } from "@sekisho/verification/task/messages.ts";
import { deaths } from "../../world/faults.ts";
import { createWorld } from "../../world/world.ts";
import { askedAtMs, numberedAsk } from "../task/sample.ts";

const threadTs = `${askedAtMs / 1000}.000001`;
const first = numberedAsk(1, { threadTs });
const ask = numberedAsk(2, { threadTs, ts: `${askedAtMs / 1000}.000900`, text: "Who kept it?" });

function changeOf(of: typeof ask, message: Partial<UserMessage>, isDeleted?: true): MessageChange {
  const editedTs = `${askedAtMs / 1000 + 5}.000100`;
  const { retryOf: _none, ...askedMessage } = of;
  return {
    ...askedMessage,
    type: "message_change",
    receivedAtMs: askedAtMs + 5000,
    message: { ...of.message, editedTs, ...message },
    ...(isDeleted && { isDeleted }),
  };
}
const editOf = (of = ask, text = "Until when?", editedTs?: string) =>
  changeOf(of, { text, ...(editedTs === undefined ? {} : { editedTs }) });
const deletionOf = (of = ask) => changeOf(of, { text: "" }, true);

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
    "sends the text that comes first in the queue once, with the edit %s the message",
    async (where) => {
      const world = createWorld();
      world.queueRaw(JSON.stringify(where === "before" ? editOf(first) : first));
      await world.run({ maxSteps: where === "before" ? 1 : 0 });
      world.queueRaw(JSON.stringify(where === "before" ? first : editOf(first)));
      await world.run();
      expect(textsSent(world)).toEqual([where === "before" ? "Until when?" : first.message.text]);
      expect(world.answers()).toHaveLength(1);
    },
  );

  it("leaves nothing of a deleted message and ignores the message if it comes later", async () => {
    const world = createWorld();
    await world.deliver(deletionOf(first)).run();
    await world.deliver(first).run();
    expect(world.sent).toEqual([]);
    expect(world.posts).toEqual([]);
    expect(world.taskOf(first)).toMatchObject({
      state: "done",
      message: { text: "" },
    });
  });

  it("leaves nothing of a deleted message if the worker dies at any operation", async () => {
    for (const fault of deaths) {
      for (let deathAt = 1; deathAt < 6; deathAt++) {
        let operations = 0;
        const world = createWorld({ fault: () => ++operations === deathAt && fault });
        // Slack's event of the message comes when the other one was tried once.
        await world.deliver(deletionOf(first)).run({ maxSteps: 1 });
        if (world.records.size === 0) continue;
        await world.deliver(first).run();
        expect([world.sent, world.posts, world.ephemeralMessages]).toEqual([[], [], []]);
      }
    }
  });

  it("delays a change like its message until the thread is known as one of the bot", async () => {
    const unaddressed = (message: MessageChange): MessageChange => ({
      ...message,
      message: { ...message.message, unaddressed: true },
    });
    const world = createWorld();
    world.queueRaw(JSON.stringify(unaddressed(editOf())));
    await world.run({ maxSteps: 1 });
    expect(stateOf(world)).toBeUndefined();
    await world.deliver(first).run();
    expect(textsSent(world)).toEqual([first.message.text, "Until when?"]);
    const elsewhere = createWorld();
    elsewhere.queueRaw(JSON.stringify(unaddressed(deletionOf())));
    await elsewhere.run();
    expect(elsewhere.taskOf(ask)).toBeUndefined();
  });

  it("ignores a change of an old message whose record has expired", async () => {
    const world = createWorld();
    const old = {
      ...first,
      message: { ...first.message, ts: `${askedAtMs / 1000 - 25 * 3600}.000100` },
    };
    world.queueRaw(JSON.stringify(editOf(old)));
    await world.run();
    expect([world.records.size, world.posts.length]).toEqual([0, 0]);
  });

  it("records no deletion by a person who is not allowed", async () => {
    // As the gate does for a stranger: only what did not speak to the bot is dropped at once.
    const world = createWorld({
      gate: { isIgnored: async ({ message }) => message.unaddressed === true },
    });
    await world.deliver(deletionOf()).run();
    expect(world.records.size).toBe(0);
    await world.deliver(editOf()).run();
    expect(world.records.size).toBe(1);
  });

  it("ignores every change by a person who is not allowed", async () => {
    const world = createWorld({ gate: { isIgnored: async () => true } });
    for (const change of [editOf(), deletionOf()]) world.deliver(change);
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

  it("applies edits once and in their own order, independent of the queue", async () => {
    const [older, newer] = [
      editOf(ask, "Older?", "1760000006.1"),
      editOf(ask, "Newer?", "1760000007.1"),
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

  it("cancels a queued task whose message is deleted and says so in its placeholder", async () => {
    const world = await whileQueued(deletionOf());
    expect(textsSent(world)).toEqual([first.message.text]);
    expect(world.answers()).toContain('{"type":"failed","reason":"canceled","lost":false}');
    expect(world.posts.filter(({ key }) => key?.requestId === ask.requestId)).toHaveLength(1);
    expect(late(world)).toEqual([]);
  });

  it("sends either the old or the edited text once if a worker dies at any operation", async () => {
    const lates = new Set<boolean>();
    for (let deathAt = 1; deathAt < 30; deathAt++) {
      let operations = 0;
      let isArmed = false;
      const world = createWorld({
        pollsUntilDone: 3,
        fault: () => isArmed && ++operations === deathAt && "dies_after",
      });
      world.deliver(first);
      await world.deliver(ask).run(untilQueued(world));
      isArmed = true;
      for (const change of [editOf(), deletionOf(first)]) world.deliver(change);
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

  it("reports a late edit once and continues with the sent text", async () => {
    const later = editOf(first, "And then?", `${askedAtMs / 1000 + 9}.1`);
    const world = await afterSend(editOf(first), editOf(first), later);
    expect(late(world)).toEqual(["It was edited too late."]);
    expect(textsSent(world)).toEqual([first.message.text]);
    expect(world.answers()).toEqual(["A checkpoint."]);
  });

  it("reports a late deletion once, also after an edit", async () => {
    const world = await afterSend(editOf(first), deletionOf(first), deletionOf(first));
    expect(late(world)).toEqual(["It was edited too late.", "It was deleted too late."]);
    expect(world.answers()).toEqual(["A checkpoint."]);
  });

  it("reports no late change to another bot, which might answer", async () => {
    const world = createWorld({ pollsUntilDone: 5 });
    const ofBot = { ...first, message: { ...first.message, botIds: ["B2"] } };
    await world.deliver(ofBot).run({ until: () => stateOf(world, first) === "waiting" });
    for (const change of [editOf(ofBot), deletionOf(ofBot)]) world.deliver(change);
    await world.run();
    expect([late(world), world.answers()]).toEqual([[], ["A checkpoint."]]);
  });

  it("reports nothing for an edit without changes", async () => {
    expect(late(await afterSend(editOf(first, first.message.text)))).toEqual([]);
  });

  it("reports a late edit while the answer is new, and a late deletion only of a running task", async () => {
    const world = createWorld();
    await world.deliver(first).run({ until: () => stateOf(world, first) === "done" });
    for (const change of [deletionOf(first), editOf(first)]) world.deliver(change);
    await world.run();
    expect(late(world)).toEqual(["It was edited too late."]);
    const old = createWorld();
    await old.deliver(first).run();
    await old.deliver(editOf(first)).run();
    expect(late(old)).toEqual([]);
  });

  it("reports no late edit below a failure with a retry button, because a retry sends the new text", async () => {
    const story = () => {
      throw new SekishoError("execution_failed");
    };
    const world = createWorld({ story });
    await world.deliver(first).run({ until: () => stateOf(world, first) === "done" });
    await world.deliver(editOf(first)).run();
    expect(late(world)).toEqual([]);
  });

  it("continues the task if Slack refuses the notice of a late edit", async () => {
    const world = createWorld({
      pollsUntilDone: 5,
      fault: ({ name }) => name === "post" && isLate && "refused",
    });
    let isLate = false;
    await world.deliver(first).run({ until: () => stateOf(world, first) === "waiting" });
    isLate = true;
    world.queueRaw(JSON.stringify(editOf(first)));
    await world.run({ maxSteps: 1 });
    isLate = false;
    await world.run();
    expect([late(world), world.answers()]).toEqual([[], ["A checkpoint."]]);
  });
});

describe("a change that the queue gave up on", () => {
  it("stores a dead letter of a change and still applies the change", async () => {
    const world = createWorld({ pollsUntilDone: 1000 });
    world.deliver(first);
    await world.deliver(ask).run(untilQueued(world));
    const others = world.loseMessages();
    expect(others).toBeGreaterThan(0);
    world.queueRaw(JSON.stringify(editOf()));
    await world.deadLetterAll();
    expect(world.archive.map((body) => JSON.parse(body))).toMatchObject([
      { type: "message_change" },
    ]);
    await world.run({ maxSteps: 1 });
    expect(world.taskOf(ask)?.message.text).toBe("Until when?");
  });

  it("applies a change in place of a message that was never handled", async () => {
    const world = createWorld();
    world.queueRaw(JSON.stringify(editOf(first)));
    await world.deadLetterAll();
    await world.run();
    expect(textsSent(world)).toEqual(["Until when?"]);
  });
});
