/** Files that a person did not attach to the message itself: of forwarded messages, and of earlier messages of the thread. */
import { expect, it } from "@jest/globals";
import { referenceText } from "@sekisho/verification/slack/messages/outcome-text.ts";
import { createWorld } from "../../world/world.ts";
import { askedAtMs, numberedAsk } from "../task/sample.ts";

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

it("sends the files of a forwarded message and names an unreadable one", async () => {
  const sharedFiles = [fileOf("F1"), unreadable];
  const world = createWorld();
  await world.deliver(numberedAsk(1, { sharedFiles })).run();
  expect(filesSent(world)).toEqual([["F1"]]);
  expect(world.sent[0]?.text).toBe("What is a sekisho?\n\n(Not attached: gone.csv)");
  expect(world.answers()).toEqual(["A checkpoint."]);
});

it("sends the files of earlier messages with a reply, the newest first", async () => {
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

it("sends the files of the message first and skips those before the bot's last answer", async () => {
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

it("sends the files before a failure of the bot again with the next message", async () => {
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

it("reads the thread once for history and files, and never for a new message", async () => {
  const reads: string[] = [];
  const countImports = (ask: typeof reply) =>
    createWorld({
      inSlack: [{ ts: threadTs, text: "Look", files: [fileOf("F1")] }],
      fault: ({ name }) => {
        if (name === "replies") reads.push(ask.message.ts);
      },
    });
  const first = numberedAsk(2, { ts: tsAt(1) });
  for (const ask of [reply, first]) {
    const world = countImports(ask);
    await world.deliver(ask).run({ until: () => world.taskOf(ask)?.state === "done" });
  }
  expect(reads).toEqual([reply.message.ts]);
});

it("sends a task without optional files if the transfers stay busy", async () => {
  const busy = { max: 3, tryTake: () => undefined };
  const world = createWorld({ files: { transfers: busy } });
  await world.deliver(numberedAsk(1, { sharedFiles: [fileOf("F1")] })).run();
  expect([filesSent(world), world.answers()]).toEqual([[[]], ["A checkpoint."]]);
  expect(world.sent[0]?.text).toBe("What is a sekisho?\n\n(Not attached: F1.csv)");
});

it("waits a while for a transfer of optional files", async () => {
  let refusals = 2;
  const world = createWorld({
    files: { transfers: { max: 3, tryTake: () => (refusals-- > 0 ? undefined : () => {}) } },
  });
  await world.deliver(numberedAsk(1, { sharedFiles: [fileOf("F1")] })).run();
  expect(filesSent(world)).toEqual([["F1"]]);
});

it("sends only the message's own files if configured so, and names no others", async () => {
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

it("leaves out the posts and files of other apps if configured so", async () => {
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
