/** Direct messages: each message outside of a thread begins anew, unless the whole direct message is one conversation. */
import { describe, expect, it } from "@jest/globals";
import type { Foreign } from "../../world/slack.ts";
import { createWorld } from "../../world/world.ts";
import { askedAtMs, numberedAsk } from "../task/sample.ts";

const policy = { oneDirectConversation: true };
const direct = { direct: true, channel: "D1" };

/** Sends the person's messages at those minutes, one after the other. Returns the history that the agent gets with each. */
async function historiesOf(
  minutes: readonly number[],
  {
    from = "person",
    ...options
  }: NonNullable<Parameters<typeof createWorld>[0]> & Pick<Foreign, "from"> = {},
) {
  const asks = minutes.map((minute, n) =>
    numberedAsk(n, {
      ...direct,
      ts: `${askedAtMs / 1000 + minute * 60}.000100`,
      text: `Message at ${minute}`,
    }),
  );
  const inSlack = asks.map(({ message: { ts, text, channel } }) => ({ from, ts, text, channel }));
  let reads = 0;
  const fault: NonNullable<typeof options.fault> = (operation) => {
    if (operation.name === "posts" || operation.name === "replies") reads += 1;
    return options.fault?.(operation);
  };
  const world = createWorld({ ...options, inSlack, fault });
  const readsBefore: number[] = [];
  for (const [n, ask] of asks.entries()) {
    world.pass(askedAtMs + (minutes[n] ?? 0) * 60_000 - world.now());
    const readCount = reads;
    await world.deliver(ask).run({ until: () => world.sent.length > n });
    readsBefore.push(reads - readCount);
    await world.run();
  }
  return {
    readsBefore,
    texts: world.sent.map(({ history = [] }) => history.map(({ text }) => text)),
  };
}

describe("a message outside of a thread in a direct message", () => {
  it("sends a direct message outside of threads without history and without a read", async () => {
    expect(await historiesOf([0, 5])).toEqual({ readsBefore: [0, 0], texts: [[], []] });
  });

  it("includes the direct message since the last pause if it is one conversation", async () => {
    const { texts } = await historiesOf([0, 45, 60], { policy });
    expect(texts).toEqual([[], [], ["Message at 45", "A checkpoint."]]);
  });

  it("includes posts of the person through another app, unless posts of other apps are switched off", async () => {
    const fromApp = { from: "other_bot", policy } as const;
    const { texts } = await historiesOf([0, 5], fromApp);
    expect(texts[1]).toEqual(["Message at 0", "A checkpoint."]);
    const off = await historiesOf([0, 5], { ...fromApp, slack: { context: { otherApps: false } } });
    expect(off.texts[1]).toEqual(["A checkpoint."]);
  });

  it("includes the five latest messages and their answers at most", async () => {
    const { texts, readsBefore } = await historiesOf([0, 5, 10, 15, 20, 25, 30], {
      policy,
    });
    expect(texts.at(-1)?.[0]).toBe("Message at 5");
    expect(texts.at(-1)).toHaveLength(10);
    expect(readsBefore.at(-1)).toBe(6);
  });

  it("sends a message without history if the bot is not allowed to read the direct message", async () => {
    const fault = ({ name }: { name: string }) => name === "posts" && "refused";
    const { texts } = await historiesOf([0], { policy, fault });
    expect(texts).toEqual([[]]);
  });
});
