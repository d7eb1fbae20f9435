/** Whatever else people do in Slack, over one transport: commands, conversations with an agent, and an answer that is too long for messages. */
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type E2eWorld, startWorld, textsOf, together, until, withButton } from "./world.ts";

const prompts = [{ title: "What is this?", message: "What is a sekisho?" }];

const stories = {
  async "a slash command is answered in a new thread of the channel, below what was asked"(
    world: E2eWorld,
  ) {
    const { fakeSlack, eventsUrl } = world;
    const { requestId, delivered } = fakeSlack.command({
      eventsUrl,
      text: "private command, ask me",
    });
    expect((await delivered).status).toBe(200);
    const opening = await until(() =>
      fakeSlack
        .messages()
        .find(({ text, threadTs }) => text.includes("private command") && threadTs === undefined),
    );
    expect(opening).toMatchObject({
      channel: "CSTANDIN",
      text: expect.stringContaining("<@UPERSON>"),
    });
    const { channel, ts } = await withButton(world, { message: opening }, "No");
    fakeSlack.clickButton({ eventsUrl, channel, ts, label: "No" });
    expect((await world.over(requestId)).outcome).toMatchObject({ type: "answer" });
    expect(textsOf(world.answersTo(opening))).toContain("Shall I go on? no");
  },

  async "an agent's conversation suggests prompts when it is opened, and Slack's own stop button cancels"(
    world: E2eWorld,
  ) {
    const { fakeSlack, eventsUrl } = world;
    const { channel } = fakeSlack.openHome({ eventsUrl, user: "UHANAKO" });
    const suggested = () =>
      fakeSlack.prompts().find((each) => each.channel === channel && each.threadTs === undefined);
    await until(suggested);
    expect(suggested()?.prompts).toEqual(prompts);
    const post = world.ask("private, slow 60s", { channel, user: "UHANAKO" });
    const threadTs = post.message.ts;
    const session = () => fakeSlack.sessions().find((each) => each.threadTs === threadTs);
    await until(() => session()?.status === "processing");
    expect(session()?.title).toBe("private, slow 60s");
    fakeSlack.stopSession({ eventsUrl, channel, threadTs, user: "UHANAKO" });
    expect((await world.over(post.requestId)).outcome).toMatchObject({
      type: "failed",
      reason: "canceled",
    });
    await until(() => session()?.status === "active");
  },

  async "an answer too long for messages comes as a file"(world: E2eWorld) {
    const post = world.ask("private, very long");
    await world.over(post.requestId);
    const answers = world.answersTo(post.message);
    const [file] = answers.flatMap(({ files = [] }) => files);
    expect([answers.length, file?.name]).toEqual([2, "answer.md"]);
    const text = new TextDecoder().decode(world.fakeSlack.file(file?.id ?? "")?.bytes);
    expect(text.length).toBeGreaterThan(50_000);
  },
};

describe("the actions of people in Slack", () => {
  let world: E2eWorld;
  let storyRuns: ReturnType<typeof together>;
  beforeAll(async () => {
    world = await startWorld({
      transport: "in-process",
      slack: { command: { name: "/sekisho" }, assistant: { prompts } },
    });
    storyRuns = together(stories, world);
  });
  afterAll(() => world?.close());

  it.each(Object.keys(stories))("completes the story: %s", (name) => storyRuns.get(name));

  it("keeps secrets out of stores, and secrets and texts out of log lines", async () => {
    await Promise.allSettled(storyRuns.values());
    expect(
      world.lines.filter((line) => /private|echo agent|Shall I|theirs|エージェント/.test(line)),
    ).toEqual([]);
    for (const secret of Object.values(world.secrets)) {
      expect(world.lines.filter((line) => line.includes(secret))).toEqual([]);
      expect(world.stored().includes(secret)).toBe(false);
    }
  });
});
