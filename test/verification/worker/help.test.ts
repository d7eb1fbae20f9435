/** A message that is nothing but the word for help. */
import { describe, expect, it } from "@jest/globals";
import { next } from "@sekisho/verification/task/machine.ts";
import { createWorld } from "../../world/world.ts";
import { askedAtMs, sampleAsk, sampleFile, samplePolicy, sampleTask } from "../task/sample.ts";

const texts = [
  "help",
  "Help",
  "HELP!",
  "*help*",
  " help. ",
  "ｈｅｌｐ",
  "ヘルプ",
  "使い方",
  "使い方？",
];

function helpIn(world: ReturnType<typeof createWorld>): string[] {
  return world.answers().flatMap((text) => {
    const { type, text: help } = JSON.parse(text);
    return type === "help" ? [help] : [];
  });
}

async function sayText(
  message: Parameters<typeof sampleAsk>[0],
  options: Parameters<typeof createWorld>[0] = {},
) {
  const chargedIds: string[] = [];
  const gate = {
    charge: async ({ task }: { task: { id: string } }) => void chargedIds.push(task.id),
  };
  const world = createWorld({ ...options, gate: { ...gate, ...options.gate } });
  await world.deliver(sampleAsk(message)).run();
  return { world, charged: chargedIds };
}

describe("a message that is nothing but the word for help", () => {
  it.each(texts)(
    "answers the word for help in its thread in five lines without a task: %j",
    async (text) => {
      const { world, charged } = await sayText({ text });
      expect(helpIn(world).map((help) => help.split("\n").length)).toEqual([5]);
      expect(world.posts).toMatchObject([{ channel: "C1", threadTs: sampleAsk().message.ts }]);
      expect([world.starts, charged, [...world.marks]]).toEqual([[], [], []]);
      expect([...world.records.values()]).toMatchObject([
        { state: "done", cleanupDone: true, outcome: { type: "help" } },
      ]);
    },
  );

  it("opens no session of an agent for the word for help", async () => {
    const { world } = await sayText({ text: "help" }, { slack: { assistant: {} } });
    expect(world.sessions).toEqual([]);
  });

  it("excludes the word for help from the usage", async () => {
    const { world } = await sayText({ text: "help" });
    expect([...world.records.values()].map(({ endedAtMs }) => endedAtMs)).toEqual([undefined]);
  });

  it("sends the word for help to the agent if the feature is switched off", async () => {
    const { world } = await sayText({ text: "help" }, { policy: { helpWord: false } });
    expect(world.starts).toHaveLength(1);
    expect(world.answers()).toEqual(["A checkpoint."]);
  });

  it("refuses the word for help of a person who is not allowed", async () => {
    const permit = async () => ({ allowed: false, locale: "en" as const });
    const { world } = await sayText({ text: "help" }, { gate: { permit } });
    expect(world.posts).toEqual([]);
    expect(world.ephemeralMessages).toMatchObject([{ text: '{"type":"refused"}' }]);
  });
});

describe("the word for help in a thread", () => {
  it("checks first whether the word for help in a thread answers a question", () => {
    const task = sampleTask({ message: sampleAsk({ text: "help", threadTs: "1.000001" }).message });
    const event = { type: "permitted", allowed: true, locale: "en", nowMs: askedAtMs } as const;
    expect(next({ task, event, policy: samplePolicy() }).effects).toEqual([
      { type: "give_reply", reconcile: false },
    ]);
    const none = { type: "reply_given", decision: "none", nowMs: askedAtMs } as const;
    expect(next({ task, event: none, policy: samplePolicy() }).effects).toEqual([
      { type: "write_help" },
    ]);
    const replyTaken = { ...none, decision: "taken" } as const;
    expect(next({ task, event: replyTaken, policy: samplePolicy() }).task.state).toBe("done");
  });
});

describe("any other message is a task", () => {
  it.each<[string, Parameters<typeof sampleAsk>[0]]>([
    ["more words", { text: "help me with this" }],
    ["a word that begins so", { text: "helper" }],
    ["with a file", { text: "help", files: [sampleFile] }],
    ["of another bot", { text: "help", botIds: ["B1"] }],
  ])("makes a task of the word for help in any other form: %s", async (_what, message) => {
    const { world } = await sayText(message);
    expect(world.starts).toHaveLength(1);
  });

  it("makes a task of the word for help in a reply without a mention", async () => {
    const { world } = await sayText({ threadTs: `${askedAtMs / 1000 - 10}` });
    await world
      .deliver({
        ...sampleAsk({
          text: "help",
          threadTs: `${askedAtMs / 1000 - 10}`,
          ts: `${askedAtMs / 1000 + 50}`,
          unaddressed: true,
        }),
        requestId: "0d1c2b3a-4f5e-5a6b-8c7d-9e0f1a2b3c97",
      })
      .run();
    expect(world.starts).toHaveLength(2);
  });
});
