/** Replies that mention nobody: whose thread it is, by which clock, and who hears that it was too much. */
import { describe, expect, it } from "@jest/globals";
import type { UserMessage } from "../../../lambdas/verification/task/messages.ts";
import { askedAtMs, sampleAsk } from "../task/sample.ts";
import { createWorld } from "./world.ts";

const ask = sampleAsk();

function reply(n: number, message: Partial<UserMessage>) {
  const asked = sampleAsk({ unaddressed: true, text: "And in Kyoto?", ...message });
  return { ...asked, requestId: `00000000-0000-5000-8000-${String(n).padStart(12, "0")}` };
}

describe("a reply in a slash command's thread, where our clock is ahead of Slack's", () => {
  const command = {
    ...sampleAsk({ command: true, ts: `${askedAtMs / 1000 + 60}.000100` }),
    requestId: "00000000-0000-5000-8000-00000000000c",
  };

  async function inItsThread(text: string) {
    const world = createWorld({ pollsUntilDone: 8, cancelable: true });
    world.deliver(command);
    await world.run({ until: () => world.records.get(command.requestId)?.state === "waiting" });
    const threadTs = world.records.get(command.requestId)?.threadRef?.threadTs ?? "";
    expect(Number(threadTs)).toBeLessThan(Number(command.message.ts));
    world.deliver(reply(1, { threadTs, ts: (Number(threadTs) + 0.5).toFixed(6), text }));
    await world.run();
    return world;
  }

  it("is known for one: the word to cancel ends the command's task", async () => {
    const world = await inItsThread("cancel");
    expect(world.cancels).toMatchObject([{ params: { task_id: "t-1", reason: "asked" } }]);
    expect(world.answers()).toContain('{"type":"canceling","count":1}');
  });

  it("and a follow-up is done", async () => {
    const world = await inItsThread("And in Kyoto?");
    expect(world.sent.map(({ text }) => text)).toEqual([ask.message.text, "And in Kyoto?"]);
    expect(world.answers()).toHaveLength(2);
  });
});

describe("a reply in a thread that was the bot's before replies counted", () => {
  it("is what people say to each other", async () => {
    const world = createWorld();
    world.deliver(ask);
    await world.run();
    const id = `thread:C1/${ask.message.ts}`;
    const thread = world.threads.get(id);
    if (thread === undefined) throw new Error("no thread");
    const { sinceTs: _sinceTs, ...before } = thread;
    world.threads.set(id, before);
    world.deliver(reply(1, { threadTs: ask.message.ts, ts: `${askedAtMs / 1000 + 200}` }));
    await world.run();
    expect(world.answers()).toEqual(["A checkpoint."]);
    expect(world.records.has(reply(1, {}).requestId)).toBe(false);
  });
});

describe("a reply over a quota", () => {
  it("is told to its writer alone, whatever Slack makes of that", async () => {
    for (const isTold of [true, false]) {
      let isFirst = true;
      const world = createWorld({
        fate: ({ name }) => (name === "whisper" && !isTold ? "refused" : "ok"),
        gate: {
          async charge() {
            if (!isFirst) return { by: "channel", retryAtMs: 1_760_000_900_000 };
            isFirst = false;
            return undefined;
          },
        },
      });
      world.deliver(ask);
      await world.run();
      const marks = [...world.marks];
      world.deliver(reply(1, { threadTs: ask.message.ts, ts: `${askedAtMs / 1000 + 200}`, user: "U2" }));
      await world.run();
      const words = '{"type":"limited","by":"channel","retryAtMs":1760000900000}';
      expect(world.ephemeralMessages.map(({ user, text }) => [user, text])).toEqual(isTold ? [["U2", words]] : []);
      expect(world.answers()).toEqual(["A checkpoint."]);
      expect([...world.marks]).toEqual(marks);
      expect(world.starts).toEqual([ask.requestId]);
      expect(world.records.get(reply(1, {}).requestId)).toMatchObject({
        state: "done",
        cleanupDone: true,
        message: { text: "" },
      });
    }
  });
});

describe("a reply in a channel of Slack Connect that mentions somebody", () => {
  const thread = { threadTs: ask.message.ts, ts: `${askedAtMs / 1000 + 200}`, perhapsAddressed: true as const };
  const settings = { threadReplies: false };

  it("counts as the mention that Slack tells of in a second event, also where replies do not count", async () => {
    for (const order of ["message first", "mention first"]) {
      const world = createWorld(settings);
      world.deliver(ask);
      await world.run();
      world.pass(200_000);
      const message = reply(1, thread);
      const mention = {
        ...message,
        message: { ...message.message, unaddressed: undefined, perhapsAddressed: undefined },
      };
      const events = order === "message first" ? [message, mention] : [mention, message];
      for (const event of events) {
        world.deliver(event);
        await world.run({ maxSteps: 1 });
      }
      await world.run();
      expect({ order, answers: world.answers() }).toEqual({ order, answers: ["A checkpoint.", "A checkpoint."] });
      expect(world.sent).toHaveLength(2);
    }
  });

  it("is done half a minute later where it is a reply to the bot", async () => {
    const world = createWorld();
    world.deliver(ask);
    await world.run();
    world.pass(200_000);
    world.deliver(reply(1, thread));
    await world.run();
    expect(world.answers()).toEqual(["A checkpoint.", "A checkpoint."]);
  });
});
