/** The message shortcut: its modal, and the task that comes of it. */
import { describe, expect, it } from "@jest/globals";
import { SekishoError } from "@sekisho/contracts/errors.ts";
import { SlackError } from "@sekisho/verification/slack/api/slack.ts";
import { createTaskText } from "@sekisho/verification/slack/messages/task-text.ts";
import type { ShortcutUsed, UserMessage } from "@sekisho/verification/task/messages.ts";
import { failing } from "../../world/faults.ts";
import type { Foreign } from "../../world/slack.ts";
import { createWorld } from "../../world/world.ts";
import { askedAtMs, numberedAsk, sampleFile } from "../task/sample.ts";
import { sampleClick } from "./sample-click.ts";

const aboutTs = `${askedAtMs / 1000 - 5000}.000100`;
const actionTs = `${askedAtMs / 1000}.000200`;
const requestId = numberedAsk(1).requestId;

function shortcutUsed(changes: Partial<ShortcutUsed> = {}): ShortcutUsed {
  const where = { team: "T1", channel: "C1", ts: aboutTs, actionTs };
  return {
    type: "shortcut_used",
    requestId,
    ...where,
    user: "U1",
    userTeam: "T1",
    triggerId: "1.1.a",
    ...changes,
  };
}

/** What the ingress makes of the submitted modal. */
function submitForm(n: number, instruction = "", message: Partial<UserMessage> = {}) {
  return numberedAsk(n, {
    ts: actionTs,
    threadTs: aboutTs,
    text: "",
    about: { ts: aboutTs, instruction },
    ...message,
  });
}

const inSlack = [{ ts: aboutTs, text: "The gate is closed.\nFrom sunset on." }];

async function modalOf(shortcut: ShortcutUsed) {
  const world = createWorld();
  await world.interact(shortcut).run();
  const [{ view } = { view: undefined }] = world.modals;
  return { view, metadata: view?.private_metadata && JSON.parse(view.private_metadata), world };
}

describe("the modal of the shortcut", () => {
  it("stores the chosen message, its thread and the time of the choice in the modal", async () => {
    const { metadata } = await modalOf(shortcutUsed({ threadTs: "1.1" }));
    expect(metadata).toEqual({
      channel: "C1",
      ts: aboutTs,
      threadTs: "1.1",
      actionTs,
      locale: "en",
    });
  });

  it.each([
    ["T1", "channels"],
    ["T2", "people"],
  ])(
    "marks a person of the own and of another workspace in a shared channel: %s",
    async (userTeam, external) => {
      const { metadata } = await modalOf(shortcutUsed({ channel: "CSHARED", userTeam }));
      expect(metadata).toMatchObject({ external });
    },
  );

  it("shows a modal without input if the bot is not in the channel", async () => {
    const { view } = await modalOf(shortcutUsed({ channel: "CWITHOUT" }));
    expect(view).not.toHaveProperty("submit");
    expect(JSON.stringify(view?.blocks)).toContain("I'm not in this conversation");
  });

  it("opens no form if Slack does not describe the channel, and says so", async () => {
    for (const [kind, slackError, modalCount] of [
      ["unavailable", "service_unavailable", 0],
      ["gone", "missing_scope", 1],
      ["gone", "channel_not_found", 1],
    ] as const) {
      const error = new SlackError(kind, { slackError });
      const world = createWorld({ fault: failing(error, "channelInfo") });
      await world.interact(shortcutUsed()).run();
      expect(world.modals.filter(({ view }) => view.submit !== undefined)).toEqual([]);
      expect([slackError, world.modals.length]).toEqual([slackError, modalCount]);
      expect(world.ephemeralMessages).toHaveLength(1 - modalCount);
    }
  });

  it("reports a late shortcut to the person only, and ignores a repeated one", async () => {
    const { world } = await modalOf(shortcutUsed({ triggerId: "late" }));
    expect(world.ephemeralMessages).toMatchObject([
      { user: "U1", text: '{"type":"shortcut_not_opened"}' },
    ]);
    const again = createWorld();
    for (let time = 0; time < 2; time++) await again.interact(shortcutUsed()).run();
    expect([again.modals.length, again.ephemeralMessages]).toEqual([1, []]);
  });
});

describe("a message that a person asks about", () => {
  it.each([
    ["", "The gate is closed.\nFrom sunset on."],
    [" Translate ", "Translate\n\n> The gate is closed.\n> From sunset on."],
    // It was chosen from a menu, so it is no word to cancel.
    ["cancel", "cancel\n\n> The gate is closed.\n> From sunset on."],
  ])(
    "sends the chosen message with the instruction %j and answers in its thread",
    async (instruction, text) => {
      const world = createWorld({ inSlack });
      await world.deliver(submitForm(1, instruction)).run();
      expect(world.sent).toMatchObject([{ text, thread_ts: aboutTs, user_id: "U1" }]);
      // It is the request itself, and not what was said before.
      expect(world.sent[0]).not.toHaveProperty("history");
      expect(world.posts).toMatchObject([{ threadTs: aboutTs, text: "A checkpoint." }]);
      expect([...world.marks]).toEqual([`${aboutTs} check`]);
      expect(JSON.stringify(world.records.get(requestId))).not.toMatch(/gate is closed|Translate/);
    },
  );

  it("cuts the message below an instruction if both together are too long", async () => {
    const world = createWorld({ inSlack: [{ ts: aboutTs, text: "line\n".repeat(8000).trim() }] });
    await world.deliver(submitForm(1, "Translate")).run();
    const text = String(world.sent[0]?.text);
    expect(text).toHaveLength(40_000);
    expect(text).toMatch(/^Translate\n\n> line\n.*…\(cut\)$/s);
  });

  it("accepts an old message, because its age counts from the choice", async () => {
    const ts = `${askedAtMs / 1000 - 30 * 24 * 3600}.000100`;
    const world = createWorld({ inSlack: [{ ts, text: "Long ago" }] });
    await world.deliver(submitForm(1, "", { threadTs: ts, about: { ts, instruction: "" } })).run();
    expect(world.sent).toMatchObject([{ text: "Long ago" }]);
  });

  it("reports a missing message to the person only", async () => {
    const world = createWorld();
    await world.deliver(submitForm(1, "Translate")).run();
    expect(world.posts).toEqual([]);
    expect(world.ephemeralMessages).toMatchObject([
      { user: "U1", text: expect.stringContaining("unreadable") },
    ]);
  });

  it("never uses a chosen message as the reply to a question of its thread", async () => {
    const world = createWorld({
      ...{ inSlack, questions: [{ prompt: "Shall I?" }], policy: { questionMs: 60_000 } },
    });
    await world.deliver(submitForm(1)).run({ until: () => world.questions().length > 0 });
    await world
      .deliver(submitForm(2, "Another thing", { ts: `${askedAtMs / 1000 + 20}.5` }))
      .run({ until: () => world.records.size > 1 });
    expect(world.replies).toEqual([]);
    expect(world.taskOf(numberedAsk(2))?.state).not.toBe("done");
  });

  it.each([
    ["edited", "The gate is open.", "The gate is open."],
    ["deleted", undefined, undefined],
  ])(
    "uses the current version of a message that was %s while its task waited",
    async (_what, newest, sentTexts) => {
      const slackMessages = [...inSlack];
      const world = createWorld({ inSlack: slackMessages, pollsUntilDone: 2 });
      world.deliver(submitForm(1));
      const second = () => world.taskOf(numberedAsk(2));
      await world
        .deliver(submitForm(2, "", { ts: `${askedAtMs / 1000 + 1}.5` }))
        .run({ until: () => second()?.state === "queued" });
      if (newest === undefined) slackMessages.length = 0;
      else slackMessages[0] = { ts: aboutTs, text: newest };
      await world.run();
      expect(world.sent.map(({ text }) => text)).toEqual([
        inSlack[0]?.text,
        ...(sentTexts === undefined ? [] : [sentTexts]),
      ]);
      if (newest === undefined)
        expect(second()?.outcome).toMatchObject({ type: "failed", reason: "canceled" });
    },
  );

  it.each([
    ["", 1],
    ["Translate", 0],
  ])(
    "offers a retry below a failure unless there is an instruction: %j",
    async (instruction, buttons) => {
      const { parts } = createTaskText({ locale: "en" });
      const story = () => {
        throw new SekishoError("execution_failed");
      };
      const world = createWorld({ inSlack, text: { parts }, story });
      await world.deliver(submitForm(1, instruction)).run();
      expect(
        world.posts.map(({ text, hasButtons }) => [text.split("\n")[0], hasButtons ? 1 : 0]),
      ).toEqual([
        ["The agent couldn't finish this. Try again, or rephrase your request.", buttons],
      ]);
      const atMs = world.now();
      await world.clickButton(sampleClick({ type: "retry" }, { requestId, atMs })).run();
      expect(world.sent).toHaveLength(1 + buttons);
      const ephemeralTexts = world.ephemeralMessages.map(({ text }) => text);
      expect(ephemeralTexts).toEqual(buttons === 1 ? [] : ['{"type":"over"}']);
    },
  );

  it.each([
    ["the message", [], "I couldn't read that message."],
    ["its files", inSlack, "The files in the original message are no longer available"],
  ])(
    "refuses a retry without %s and says so in the thread",
    async (_what, remainingCount, answerTexts) => {
      const { parts } = createTaskText({ locale: "en" });
      const there: Foreign[] = inSlack.map((each) => ({ ...each, files: [sampleFile] }));
      const story = () => {
        throw new SekishoError("execution_failed");
      };
      const world = createWorld({ inSlack: there, text: { parts }, story });
      await world.deliver(submitForm(1)).run();
      there.splice(0, 1, ...remainingCount);
      const atMs = world.now();
      await world.clickButton(sampleClick({ type: "retry" }, { requestId, atMs })).run();
      expect(world.sent).toMatchObject([{ attachments: [{ id: "F1" }] }]);
      expect(world.posts.at(-1)?.text).toContain(answerTexts);
    },
  );

  it("reads the message again for an operator's retry, unless its instruction is erased", async () => {
    for (const [instruction, count] of [
      ["", 2],
      ["Translate", 1],
    ] as const) {
      const world = createWorld({ inSlack });
      await world.deliver(submitForm(1, instruction)).run();
      const { message } = world.records.get(requestId) ?? {};
      if (message === undefined) throw new Error("There is no record.");
      await world.deliver({ ...submitForm(2), message, retryOf: requestId }).run();
      expect([instruction, world.sent.length]).toEqual([instruction, count]);
    }
  });
});
