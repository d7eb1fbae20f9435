/** Bots, and people who change their mind: what becomes of their messages, with real servers and the fake Slack. */
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type E2eWorld, inThread, startWorld, textsOf, together, until } from "./world.ts";

const sentTexts = ({ observations }: E2eWorld, requestId: string) => [
  ...new Set(
    observations
      .filter((one) => one.requestId === requestId)
      .flatMap(({ task }) => task.call?.params?.text ?? []),
  ),
];

/** A task, and a second message in its thread, which waits for its turn. */
async function askTwice(world: E2eWorld) {
  const { fakeSlack, eventsUrl } = world;
  const first = world.ask("private, slow 2s");
  await inThread(world, first, () => true);
  const second = fakeSlack.reply({ eventsUrl, threadTs: first.message.ts, text: "private second" });
  await until(() =>
    world.observations.some(({ task }) => task.id === second.requestId && task.state === "queued"),
  );
  return { first, second };
}

const stories = {
  async "two bots that answer each other come to an end, and nobody tells them"(world: E2eWorld) {
    const { fakeSlack, eventsUrl, lines } = world;
    const channel = "CRANDOM";
    const first = fakeSlack.askAsBot({ eventsUrl, text: "private ping 0", channel, by: "app" });
    const threadTs = first.message.ts;
    const posts = [first];
    // It answers whatever the bot says in its thread, except what says nothing new.
    const answeredTo = new Set<string>();
    const stop = fakeSlack.onChange((change) => {
      if (change.type !== "message" || change.message.threadTs !== threadTs) return;
      const { user, ts, text } = change.message;
      if (user !== "UBOTSTANDIN" || !text.includes("ping") || answeredTo.has(ts)) return;
      answeredTo.add(ts);
      const again = {
        eventsUrl,
        text: `private ping ${posts.length}`,
        channel,
        threadTs,
        by: "app",
      } as const;
      posts.push(fakeSlack.askAsBot(again));
    });
    const isCut = (line: string) => line.includes('"bot_loop_cut"') && line.includes(channel);
    await until(() => lines.some(isCut));
    const last = posts.at(-1);
    if (last === undefined) throw new Error("There is a first one.");
    expect((await world.over(last.requestId)).outcome).toMatchObject({
      type: "limited",
      by: "bots",
    });
    stop();
    expect(posts).toHaveLength(4);
    expect(
      world.answersTo(first.message).filter(({ user }) => user === "UBOTSTANDIN"),
    ).toHaveLength(3);
    expect(fakeSlack.ephemeralMessages().filter(({ user }) => user === "UOTHERBOT")).toEqual([]);
  },

  async "a person who posts through another app gets answers, and a loop through that app ends"(
    world: E2eWorld,
  ) {
    const ask = (text: string, threadTs?: string) =>
      world.ask(text, { isThroughApp: true, threadTs });
    const first = ask("private spoken 1");
    const { message } = await world.over(first.requestId);
    expect(message).toMatchObject({ user: "UPERSON", botIds: ["BOTHERBOT", "AOTHERBOT"] });
    const outcomes: unknown[] = [];
    for (const n of [2, 3, 4]) {
      const { requestId } = ask(`private spoken ${n}`, first.message.ts);
      outcomes.push((await world.over(requestId)).outcome?.type);
    }
    expect(outcomes).toEqual(["answer", "answer", "limited"]);
    const answers = world.answersTo(first.message).filter(({ user }) => user === "UBOTSTANDIN");
    expect(answers).toHaveLength(3);
  },

  async "a message that waits for its turn is sent as it was edited last"(world: E2eWorld) {
    const { fakeSlack, eventsUrl } = world;
    const { first, second } = await askTwice(world);
    const { channel } = first.message;
    const at = { eventsUrl, channel, ts: second.message.ts };
    await fakeSlack.edit({ ...at, text: "private edited" }).delivered;
    await fakeSlack.unfurl(at).delivered;
    await world.over(second.requestId);
    expect(sentTexts(world, second.requestId)).toEqual(["private edited"]);
    expect(textsOf(world.answersTo(first.message))).not.toContain("too late");
  },
};

describe("messages of bots, edits and deletions", () => {
  let world: E2eWorld;
  let storyRuns: ReturnType<typeof together>;
  beforeAll(async () => {
    world = await startWorld({
      transport: "in-process",
      allowed: false,
      allowlist: [{ team: "TSTANDIN" }, { channel: "CRANDOM", bot: "AOTHERBOT" }],
    });
    storyRuns = together(stories, world);
  });
  afterAll(() => world?.close());

  it.each(Object.keys(stories))("completes the story: %s", (name) => storyRuns.get(name));

  it("keeps texts out of log lines", async () => {
    await Promise.allSettled(storyRuns.values());
    expect(world.lines.filter((line) => /private/.test(line))).toEqual([]);
  });
});
