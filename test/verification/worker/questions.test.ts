/** The agent asks a person: by button or in words, answered once, and never lost. */
import { describe, expect, it } from "@jest/globals";
import type { AskMessage, ButtonClick } from "../../../lambdas/verification/task/messages.ts";
import { askedAtMs, sampleAsk } from "../task/sample.ts";
import { createWorld } from "./world.ts";

const ask = sampleAsk();
const options = [
  { id: "yes", label: "Yes" },
  { id: "no", label: "No" },
];
const question = { prompt: "Shall I?", options };
type World = ReturnType<typeof createWorld>;

function buttonClick(changes: Partial<ButtonClick> = {}, option = 0, index = 0): ButtonClick {
  return {
    type: "button_click",
    requestId: ask.requestId,
    team: "T1",
    channel: "C1",
    threadTs: ask.message.ts,
    user: "U1",
    atMs: askedAtMs + 60_000,
    button: { type: "answer", question: index, option },
    ...changes,
  };
}

/** A message in the thread of the task; `n` tells them apart. */
function reply(text: string, n = 1, message: Partial<AskMessage["message"]> = {}): AskMessage {
  const place = { threadTs: ask.message.ts, ts: `${askedAtMs / 1000 + 100 + n}`, unaddressed: true as const };
  return {
    ...sampleAsk({ ...place, text, ...message }),
    requestId: `00000000-0000-5000-8000-${String(n).padStart(12, "0")}`,
  };
}

/** The agent has asked, and waits. */
async function askingWorld(options: Parameters<typeof createWorld>[0] = {}): Promise<World> {
  const world = createWorld({ questions: [question], ...options });
  world.deliver(ask);
  await untilAsked(world);
  return world;
}

async function untilAsked(world: World, index = 0): Promise<void> {
  const known = () => world.records.get(ask.requestId)?.question;
  await world.run({ until: () => known()?.index === index && known()?.ts !== undefined && isFree(world) });
}

function isFree(world: World): boolean {
  return world.records.get(ask.requestId)?.lease === undefined;
}

describe("a question", () => {
  it("is answered by a button: the agent gets the option, and its answer comes below the question", async () => {
    const world = await askingWorld();
    world.clickButton(buttonClick());
    await world.run();
    expect(world.given).toMatchObject([
      { question: 0, params: { task_id: "t-1", option_id: "yes", user_id: "U1", question_id: "q-0" } },
    ]);
    expect(world.given[0]?.params).not.toHaveProperty("text");
    expect(world.posts.map(({ text }) => text)).toEqual(["Shall I? U1: 0", "A checkpoint."]);
    expect(world.ephemeralMessages).toEqual([]);
  });

  it("is answered by a reply without a mention, which gets a mark and no answer of its own", async () => {
    const world = await askingWorld();
    world.deliver(reply("Only on Tuesday"));
    await world.run();
    expect(world.given).toMatchObject([{ params: { text: "Only on Tuesday", user_id: "U1" } }]);
    expect(world.given[0]?.params).not.toHaveProperty("option_id");
    expect(world.answers()).toEqual(["A checkpoint."]);
    expect(world.starts).toEqual([ask.requestId]);
    expect([...world.marks]).toContain(`${reply("").message.ts} check`);
    expect(world.records.get(reply("").requestId)).toMatchObject({ state: "done", message: { text: "" } });
  });

  it("is answered by a reply with a mention too, and in a direct message by what is said in the thread", async () => {
    for (const changes of [{ unaddressed: undefined }, { unaddressed: undefined, direct: true }]) {
      const world = await askingWorld();
      world.deliver(reply("Yes", 1, changes));
      await world.run();
      expect(world.given).toMatchObject([{ params: { text: "Yes" } }]);
      expect(world.starts).toHaveLength(1);
    }
  });

  it("is answered also where replies in threads are otherwise not for the bot", async () => {
    const world = await askingWorld({ threadReplies: false });
    world.deliver(reply("Yes"));
    await world.run();
    expect(world.given).toHaveLength(1);
  });

  it("is answered once: the second click is told by whom and when, and nobody else hears of it", async () => {
    const world = await askingWorld({ pollsUntilDone: 2, gate: { mayAnswer: async () => true } });
    world.clickButton(buttonClick({ user: "U2" }));
    world.clickButton(buttonClick({ user: "U3", atMs: askedAtMs + 61_000 }, 1));
    await world.run();
    expect(world.given).toMatchObject([{ params: { option_id: "yes", user_id: "U2" } }]);
    const words = JSON.stringify({ type: "answered", by: "U2", atMs: askedAtMs + 60_000 });
    expect(world.ephemeralMessages).toEqual([{ user: "U3", channel: "C1", threadTs: ask.message.ts, text: words }]);
  });

  it("takes a repeated delivery of the click or the reply that answered it for the same", async () => {
    const clicked = await askingWorld();
    for (let times = 0; times < 3; times++) clicked.clickButton(buttonClick());
    await clicked.run();
    const written = await askingWorld();
    for (let times = 0; times < 3; times++) written.deliver(reply("Yes"));
    await written.run();
    for (const world of [clicked, written]) {
      expect(world.given).toHaveLength(1);
      expect(world.ephemeralMessages).toEqual([]);
      expect(world.answers()).toEqual(["A checkpoint."]);
    }
  });

  it("is not for everyone: whoever may not answer it is told alone, by a click or by a message to the bot", async () => {
    const world = await askingWorld();
    world.clickButton(buttonClick({ user: "U2" }));
    world.deliver(reply("Do it", 1, { user: "U2" }));
    world.deliver(reply("Do it now", 2, { user: "U2", unaddressed: undefined }));
    await world.run({ until: () => world.ephemeralMessages.length > 1 });
    expect(world.given).toEqual([]);
    const words = '{"type":"not_yours"}';
    // The message that did not speak to the bot is left alone; none is a task behind the question.
    expect(world.ephemeralMessages.map(({ user, text }) => [user, text])).toEqual([
      ["U2", words],
      ["U2", words],
    ]);
    expect(world.answers()).toEqual([]);
    expect(world.starts).toEqual([ask.requestId]);
  });

  it("takes no empty reply for an answer", async () => {
    const world = await askingWorld();
    world.deliver(reply("", 1, { unaddressed: undefined }));
    world.deliver(reply("", 2));
    const isOver = (n: number) => world.records.get(reply("", n).requestId)?.state === "done";
    await world.run({ until: () => isOver(1) && isOver(2) });
    expect(world.given).toEqual([]);
    expect(world.ephemeralMessages.map(({ text }) => text)).toEqual([
      '{"type":"failed","reason":"invalid_params","lost":false}',
    ]);
    expect(world.records.get(ask.requestId)?.state).toBe("asking");
  });

  it("that has expired takes no answer: the click is told, the host is asked to cancel, and the person reads that nobody answered", async () => {
    const world = await askingWorld({ questionMs: 120_000, cancelable: true });
    world.clickButton(buttonClick());
    world.pass(121_000);
    await world.run();
    expect(world.given).toEqual([]);
    expect(world.cancels).toMatchObject([{ params: { task_id: "t-1", reason: "unanswered" } }]);
    expect(world.answers()).toEqual(['{"type":"unanswered"}']);
    expect(world.ephemeralMessages.map(({ text }) => text)).toEqual(['{"type":"expired"}']);
    expect(world.questions()).toEqual(["Shall I? It is too late."]);
  });

  it("of a task that is over, or that was never asked, is over", async () => {
    const world = await askingWorld();
    world.clickButton(buttonClick());
    await world.run();
    world.clickButton(buttonClick({ atMs: askedAtMs + 900_000 }, 1));
    world.clickButton(buttonClick({}, 0, 7));
    world.clickButton(buttonClick({}, 9));
    await world.run();
    expect(world.ephemeralMessages.map(({ text }) => JSON.parse(text).type)).toEqual(["answered", "past", "answered"]);
    expect(world.given).toHaveLength(1);
  });

  it("is followed by another one, which a reply that answered is never taken for", async () => {
    const world = await askingWorld({ questions: [question, { prompt: "Are you sure?", options }] });
    world.deliver(reply("Yes", 1));
    await untilAsked(world, 1);
    world.deliver(reply("Yes", 1));
    world.clickButton(buttonClick({}, 0, 0));
    await world.run({ until: () => world.ephemeralMessages.length > 0 });
    expect(world.given).toHaveLength(1);
    expect(world.ephemeralMessages.map(({ text }) => text)).toEqual(['{"type":"past"}']);
    world.clickButton(buttonClick({}, 1, 1));
    await world.run();
    expect(world.given).toMatchObject([
      { question: 0, params: { text: "Yes", question_id: "q-0" } },
      { question: 1, params: { option_id: "no", question_id: "q-1" } },
    ]);
    expect(world.posts.map(({ text }) => text)).toEqual(["Shall I? U1: Yes", "Are you sure? U1: 1", "A checkpoint."]);
  });

  it("may stay open far longer than the task may run: the time of the person is not the task's", async () => {
    const world = await askingWorld({ questionMs: 5 * 3600_000, deadlineMs: 60_000, pollsUntilDone: 3 });
    world.pass(4 * 3600_000);
    world.clickButton(buttonClick());
    await world.run();
    expect(world.answers()).toEqual(["A checkpoint."]);
  });

  it("holds the thread: what is asked meanwhile by others is no task that overtakes it", async () => {
    const world = await askingWorld({
      questionMs: 5 * 3600_000,
      gate: { mayAnswer: async ({ user }) => user === "U1" },
    });
    world.pass(4 * 3600_000);
    world.deliver(reply("And what about me?", 1, { user: "U2", unaddressed: undefined }));
    await world.run({ until: () => world.ephemeralMessages.length > 0 });
    expect(world.ephemeralMessages.map(({ text }) => text)).toEqual(['{"type":"not_yours"}']);
    world.clickButton(buttonClick());
    await world.run();
    expect(world.answers()).toEqual(["A checkpoint."]);
    expect(world.starts).toHaveLength(1);
    expect(world.threads.get(`thread:C1/${ask.message.ts}`)?.tasks).toEqual([]);
  });

  it("ends where the task is canceled, and its buttons say so", async () => {
    for (const how of ["button", "word"] as const) {
      const world = await askingWorld({ cancelable: true });
      if (how === "button") world.clickButton(buttonClick({ button: { type: "cancel" } }));
      else world.deliver(reply("cancel"));
      await world.run();
      expect(world.cancels).toMatchObject([{ params: { task_id: "t-1", reason: "asked" } }]);
      expect(world.answers()).toContain('{"type":"failed","reason":"canceled","lost":false}');
      expect(world.questions()).toEqual(["Shall I? It is too late."]);
    }
  });

  it("for credentials is over as soon as they are there, without anybody's answer", async () => {
    const world = createWorld({ questions: [{ prompt: "Please sign in.", kind: "auth", solvedAfterPolls: 3 }] });
    world.deliver(ask);
    await world.run();
    expect(world.given).toEqual([]);
    expect(world.answers()).toEqual(["A checkpoint."]);
  });

  it("is asked without blocks where Slack takes none", async () => {
    const world = await askingWorld({ refuses: ({ text, blocks }) => text === "Shall I?" && blocks !== undefined });
    expect(world.posts.find(({ text }) => text === "Shall I?")).toMatchObject({ hasBlocks: false });
  });

  it("is answered while a worker acts on the task: the click comes again when it is done", async () => {
    const world = createWorld({ questions: [question], gate: { mayAnswer: async () => true } });
    world.deliver(ask);
    await untilAsked(world);
    const record = world.records.get(ask.requestId);
    if (record === undefined) throw new Error("no record");
    world.records.set(ask.requestId, { ...record, lease: { owner: "w", untilMs: world.now() + 5000 } });
    world.clickButton(buttonClick());
    await world.run({ maxSteps: 2 });
    expect(world.records.get(ask.requestId)?.question?.answer).toBeUndefined();
    await world.run();
    expect(world.given).toMatchObject([{ params: { option_id: "yes" } }]);
    expect(world.answers()).toEqual(["A checkpoint."]);
  });
});
