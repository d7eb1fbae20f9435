/** Files that a person did not attach to the message itself: of forwarded messages, and of earlier messages of the thread. */
import { expect, it } from "@jest/globals";
import { referenceText } from "@sekisho/verification/slack/messages/outcome-text.ts";
import { askedAtMs, numberedAsk } from "../task/sample.ts";
import { createWorld } from "./world.ts";

const fileOf = (id: string) => ({
  ...{ id, name: `${id}.csv`, mimetype: "text/csv", size: 4 },
  url: `https://files.slack.com/${id}`,
});
const unreadable = { id: "F9", name: "gone.csv", mimetype: "text/csv", size: 4 };
const tsAt = (seconds: number) => `${askedAtMs / 1000 + seconds}.000100`;
const threadTs = tsAt(-100);
const reply = numberedAsk(1, { threadTs, ts: tsAt(0) });
const filesSent = ({ sent }: ReturnType<typeof createWorld>) =>
  sent.map(({ attachments = [] }) => attachments.map(({ id }) => id));

it("the files of a forwarded message are sent with it, and one that cannot be read is named", async () => {
  const sharedFiles = [fileOf("F1"), unreadable];
  const world = createWorld();
  await world.deliver(numberedAsk(1, { sharedFiles })).run();
  expect(filesSent(world)).toEqual([["F1"]]);
  expect(world.sent[0]?.text).toBe("What is a sekisho?\n\n(Not attached: gone.csv)");
  expect(world.answers()).toEqual(["A checkpoint."]);
});

it("the files of earlier messages are sent with a reply, the newest first, whoever posted them", async () => {
  const world = createWorld({
    inSlack: [
      { ts: threadTs, text: "Look", files: [fileOf("F1")] },
      { ts: tsAt(-50), text: "And this", from: "other_bot", files: [fileOf("F2"), fileOf("F3")] },
      { ts: tsAt(10), text: "Later", files: [fileOf("F4")] },
    ],
  });
  await world.deliver(reply).run();
  expect([filesSent(world), world.answers()]).toEqual([[["F2", "F3", "F1"]], ["A checkpoint."]]);
});

it("the files before the bot's last answer are not sent again, and the message's own come first", async () => {
  const key = { requestId: reply.requestId, kind: "answer", index: 0 } as const;
  const world = createWorld({
    inSlack: [
      { ts: threadTs, text: "Look", files: [fileOf("F1")] },
      { ts: tsAt(-60), text: "I see", from: "self", key },
      { ts: tsAt(-50), text: "And this", files: [fileOf("F2"), fileOf("F3")] },
    ],
  });
  await world.deliver({ ...reply, message: { ...reply.message, files: [fileOf("F3")] } }).run();
  expect(filesSent(world)).toEqual([["F3", "F2"]]);
});

it("a failure of the bot is no answer, so the files before it are sent with the next message", async () => {
  const failure = `I can't reach the agent right now.\n_${referenceText({ locale: "en", requestId: reply.requestId })}_`;
  const world = createWorld({
    inSlack: [
      { ts: threadTs, text: "Look", files: [fileOf("F1")] },
      {
        ts: tsAt(-60),
        text: failure,
        from: "self",
        key: { requestId: reply.requestId, kind: "answer", index: 0 },
      },
    ],
  });
  await world.deliver(reply).run();
  expect(filesSent(world)).toEqual([["F1"]]);
});

it("the thread is read once for its history and its files, and not at all for a new message", async () => {
  const reads: string[] = [];
  const counted = (ask: typeof reply) =>
    createWorld({
      inSlack: [{ ts: threadTs, text: "Look", files: [fileOf("F1")] }],
      fate: ({ name }) => {
        if (name === "replies") reads.push(ask.message.ts);
        return "ok";
      },
    });
  const first = numberedAsk(2, { ts: tsAt(1) });
  for (const ask of [reply, first]) {
    const world = counted(ask);
    await world.deliver(ask).run({ until: () => world.taskOf(ask)?.state === "done" });
  }
  expect(reads).toEqual([reply.message.ts]);
});

it("a task that waits for files that it can do without goes on without them while the transfers stay busy", async () => {
  const busy = { max: 3, tryTake: () => undefined };
  const world = createWorld({ files: { transfers: busy } });
  await world.deliver(numberedAsk(1, { sharedFiles: [fileOf("F1")] })).run();
  expect([filesSent(world), world.answers()]).toEqual([[[]], ["A checkpoint."]]);
  expect(world.sent[0]?.text).toBe("What is a sekisho?\n\n(Not attached: F1.csv)");
});

it("a task waits a while for a transfer for such files", async () => {
  let refusals = 2;
  const world = createWorld({
    files: { transfers: { max: 3, tryTake: () => (refusals-- > 0 ? undefined : () => {}) } },
  });
  await world.deliver(numberedAsk(1, { sharedFiles: [fileOf("F1")] })).run();
  expect(filesSent(world)).toEqual([["F1"]]);
});

it("only a message's own files are sent where the configuration says so, and no other is named", async () => {
  const world = createWorld({
    slack: { context: { files: false } },
    inSlack: [{ ts: threadTs, text: "Look", files: [fileOf("F1"), unreadable] }],
    files: { transfers: { max: 1, tryTake: () => () => {} } },
  });
  const sharedFiles = [fileOf("F2")];
  const message = { ...reply.message, files: [fileOf("F3")], sharedFiles };
  await world.deliver({ ...reply, message }).run();
  expect(filesSent(world)).toEqual([["F3"]]);
  expect(world.sent[0]?.text).toBe("What is a sekisho?");
  expect(world.sent[0]?.history).toMatchObject([{ text: "Look" }]);
});

it("posts of other apps are neither in the history nor are their files sent where the configuration says so", async () => {
  const inSlack = [
    { ts: threadTs, text: "The backup failed", from: "other_bot" as const, files: [fileOf("F1")] },
    { ts: tsAt(-50), text: "Look", files: [fileOf("F2")] },
  ];
  const sentWith = async (otherApps: boolean) => {
    const world = createWorld({ slack: { context: { otherApps } }, inSlack });
    await world.deliver(reply).run();
    return [world.sent[0]?.history?.map(({ text }) => text), ...filesSent(world)];
  };
  expect(await sentWith(true)).toEqual([
    ["The backup failed", "Look"],
    ["F2", "F1"],
  ]);
  expect(await sentWith(false)).toEqual([["Look"], ["F2"]]);
});
