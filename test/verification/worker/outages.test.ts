/** Workers that die, tables and histories that are away: nobody is shut out for it, nothing is kept that is nobody's to keep. */
import { describe, expect, it } from "@jest/globals";
import { SlackError } from "@sekisho/verification/slack/api/slack.ts";
import type { UserMessage } from "@sekisho/verification/task/messages.ts";
import { readMessage } from "@sekisho/verification/worker/acts/prepare.ts";
import type { MaybeFault } from "../../world/faults.ts";
import { createWorld } from "../../world/world.ts";
import { askedAtMs, sampleAsk, sampleFile, sampleTask } from "../task/sample.ts";

const threadTs = `${askedAtMs / 1000}.000001`;

/** The message of that number in one thread. */
function say(n: number, message: Partial<UserMessage> = {}) {
  const askedMessage = sampleAsk({ threadTs, ts: `${askedAtMs / 1000}.000${n}00`, ...message });
  return { ...askedMessage, requestId: `00000000-0000-5000-8000-00000000000${n}` };
}

const first = say(1);

describe("a task whose worker died when it had its place and was counted", () => {
  const ends = {
    "as a dead letter": async (world: ReturnType<typeof createWorld>) => {
      await world.run({ maxSteps: 4 });
      await world.deadLetterAll();
    },
    "by a wish": async (world: ReturnType<typeof createWorld>) => world.cancel(first.requestId),
    "of old age": async (world: ReturnType<typeof createWorld>) => world.pass(25 * 3600_000),
  };

  it.each(Object.entries(ends))(
    "releases the place and the count of a task that ends %s after its worker died",
    async (_, end) => {
      let isDying = true;
      const world = createWorld({
        // Where it stands in the thread counts for as long as its day and its deadline together.
        policy: { deadlineMs: 8 * 3600_000 },
        fault: ({ name }): MaybeFault => isDying && name === "post" && "dies_before",
      });
      await world.deliver(first).run({ maxSteps: 1 });
      expect([...world.running]).toEqual([first.requestId]);
      expect(world.threads.get(`thread:C1/${threadTs}`)?.tasks).toHaveLength(1);
      await end(world);
      isDying = false;
      await world.run();
      expect(world.taskOf(first)?.state).toBe("done");
      expect([...world.running]).toEqual([]);
      expect(world.threads.get(`thread:C1/${threadTs}`)?.tasks).toEqual([]);
      const next = say(2, { ts: (world.now() / 1000).toFixed(6) });
      const beganMs = world.now();
      await world
        .deliver({ ...next, receivedAtMs: beganMs })
        .run({ until: () => world.taskOf(next)?.state === "done" });
      expect(world.now() - beganMs).toBeLessThan(60_000);
    },
  );

  it("releases the place and the count of a task that is refused at the next try", async () => {
    let isDying = true;
    const world = createWorld({
      gate: { permit: async () => ({ allowed: isDying, locale: "en" }) },
      fault: ({ name }): MaybeFault => isDying && name === "post" && "dies_before",
    });
    await world.deliver(first).run({ maxSteps: 1 });
    isDying = false;
    await world.run();
    expect(world.answers()).toEqual([]);
    expect(world.ephemeralMessages).toMatchObject([{ text: '{"type":"refused"}' }]);
    expect([...world.running]).toEqual([]);
    expect(world.threads.get(`thread:C1/${threadTs}`)?.tasks).toEqual([]);
  });
});

describe("a message with files in a thread that cannot be read", () => {
  it("sends a message with its files but without history if the thread cannot be read", async () => {
    const world = createWorld({ fault: ({ name }): MaybeFault => name === "replies" && "lost" });
    await world
      .deliver(say(1, { files: [sampleFile] }))
      .run({ until: () => world.answers().length > 0 });
    expect(world.answers()).toEqual(["A checkpoint."]);
    expect(world.sent).toMatchObject([{ attachments: [{ id: "F1" }] }]);
    expect(world.sent[0]).not.toHaveProperty("history");
  });

  it("refuses a message whose file is not available", async () => {
    const world = createWorld({
      fault: ({ name }): MaybeFault => name === "importAttachments" && "lost",
    });
    await world.deliver(say(1, { files: [sampleFile] })).run();
    expect(world.answers()).toEqual([
      '{"type":"file_refused","why":"not_to_be_had","name":"plan.pdf"}',
    ]);
    expect(world.starts).toEqual([]);
  });
});

describe("messages between people while the table is away", () => {
  it("stores only dead letters of messages to the bot for an operator, not of unaddressed ones", async () => {
    for (const unaddressed of [true, undefined]) {
      let isAway = true;
      const world = createWorld({
        fault: ({ name }): MaybeFault => isAway && name === "create" && "refused",
      });
      world.deliver(first);
      isAway = false;
      await world.run();
      isAway = true;
      await world.deliver(say(2, unaddressed ? { unaddressed } : {})).run({ maxSteps: 1 });
      await world.deadLetterAll();
      expect(world.archive).toHaveLength(unaddressed ? 0 : 1);
      // It is no less a task when the table is there again.
      isAway = false;
      await world.run();
      expect(world.answers()).toEqual(["A checkpoint.", "A checkpoint."]);
    }
  });
});

describe("a thread with more, or larger, messages than can be read", () => {
  it("posts one answer in an unreadable thread, even after a worker died, and ends the cleanup", async () => {
    for (const dying of [undefined, "post", "update"]) {
      let isDying = dying !== undefined;
      const world = createWorld({
        fault({ name }): MaybeFault {
          if (name === "replies") throw new SlackError("refused");
          if (name !== dying || !isDying) return;
          isDying = false;
          return "dies_before";
        },
      });
      await world.deliver(first).run();
      expect({ dying, answers: world.answers() }).toEqual({ dying, answers: ["A checkpoint."] });
      expect(world.taskOf(first)).toMatchObject({
        state: "done",
        cleanupDone: true,
      });
      expect(world.sent).toHaveLength(1);
    }
  });
});

const requestId = "00000000-0000-5000-8000-000000000009";
const original = sampleAsk();
const retry = {
  ...original,
  requestId,
  retryOf: original.requestId,
  message: { ...original.message, text: "" },
};

describe("a retry", () => {
  it("runs a retry of an old message as a new task with the current text", async () => {
    const later = { ...retry, receivedAtMs: askedAtMs + 20 * 24 * 3600_000 };
    const world = createWorld({
      inSlack: [{ ts: original.message.ts, text: "<@U0BOT> What is it?" }],
    });
    world.deliver({ ...later, message: { ...later.message, botUsers: ["U0BOT"] } });
    world.pass(20 * 24 * 3600_000);
    await world.run();
    expect(world.answers()).toEqual(["A checkpoint."]);
    expect(world.sent.map(({ text }) => text)).toEqual(["What is it?"]);
    expect(world.records.get(requestId)).toMatchObject({
      retryOf: original.requestId,
      state: "done",
      message: { text: "" },
    });
  });

  it("reports a deleted message as unreadable and waits while Slack is away", async () => {
    const worldWithoutMessage = createWorld();
    await worldWithoutMessage.deliver(retry).run();
    expect(worldWithoutMessage.answers()).toEqual(['{"type":"unreadable"}']);
    // Slack keeps the place of a deleted message that has replies, and its text is read as none.
    const worldWithDeletion = createWorld({ inSlack: [{ ts: original.message.ts, text: "" }] });
    await worldWithDeletion.deliver(retry).run();
    expect(worldWithDeletion.answers()).toEqual(['{"type":"unreadable"}']);
    let away = 2;
    const back = createWorld({
      inSlack: [{ ts: original.message.ts, text: "What is it?" }],
      fault: ({ name }) => name === "replies" && away-- > 0 && "refused",
    });
    await back.deliver(retry).run();
    expect(back.answers()).toEqual(["A checkpoint."]);
  });

  it("rejects with the error of Slack", async () => {
    const slack = { replies: () => Promise.reject(new SlackError("gone")) };
    const task = sampleTask();
    const signal = new AbortController().signal;
    const reading = readMessage({
      slack: slack as unknown as Parameters<typeof readMessage>[0]["slack"],
      task,
      signal,
    });
    await expect(reading).rejects.toMatchObject({ kind: "gone" });
  });
});
