/** What people and agents do with each other in a thread, over every transport: the stories of one transport run at once in one world. */
import { createHash } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import {
  type E2eWorld,
  inThread,
  startWorld,
  type TransportName,
  textsOf,
  together,
  transports,
  until,
  withButton,
} from "./world.ts";

const bytes = new TextEncoder().encode("private bytes of a file");
const sha256 = createHash("sha256").update(bytes).digest("hex");

/** Each rejects where it goes another way. */
const stories = {
  async "a question of the agent is answered by a button"(world: E2eWorld) {
    const post = world.ask("private, ask me");
    const { channel, ts } = await withButton(world, post, "Yes");
    expect(
      world.fakeSlack.clickButton({ eventsUrl: world.eventsUrl, channel, ts, label: "Yes" })
        .requestId,
    ).toBe(post.requestId);
    expect((await world.over(post.requestId)).outcome).toMatchObject({ type: "answer" });
    const [question, answer, ...more] = world.answersTo(post.message);
    expect([question?.text, answer?.text, more]).toEqual([
      expect.stringMatching(/Shall I go on\?\n+.*Yes.*<@UPERSON>/),
      expect.stringContaining("Shall I go on? yes"),
      [],
    ]);
  },

  async "a question of the agent is answered by a reply in the thread, which is no task of its own"(
    world: E2eWorld,
  ) {
    const post = world.ask("private, ask me");
    await withButton(world, post, "Yes");
    const threadTs = post.message.ts;
    const reply = world.fakeSlack.reply({
      eventsUrl: world.eventsUrl,
      threadTs,
      text: "private no, rather not",
    });
    expect((await world.over(post.requestId)).outcome).toMatchObject({ type: "answer" });
    const texts = textsOf(
      world.answersTo(post.message).filter(({ ts }) => ts !== reply.message.ts),
    );
    expect(texts).toContain("Shall I go on? private no, rather not");
    expect(texts.match(/I'm the echo agent/g)).toHaveLength(1);
    const started = world.lines.filter(
      (line) => line.includes('"task_started"') && line.includes(reply.requestId),
    );
    expect(started).toEqual([]);
  },

  async "a question with fields is filled in in a modal, and says what was answered"(
    world: E2eWorld,
  ) {
    const { fakeSlack, eventsUrl } = world;
    const post = world.ask("private, ask form");
    const { channel, ts } = await withButton(world, post, "Answer");
    fakeSlack.clickButton({ eventsUrl, channel, ts, label: "Answer" });
    const modal = await until(() =>
      fakeSlack.modals().find(({ view }) => view.private_metadata?.includes(post.requestId)),
    );
    const wrong = { Road: "中山道", Travellers: "21", Reason: "x".repeat(301) };
    expect(await fakeSlack.submitModal({ eventsUrl, id: modal.id, filledIn: wrong })).toMatchObject(
      {
        status: 200,
        errors: {
          "2": "This must be 20 or less.",
          "4": "This is too long. Use at most 300 characters.",
        },
      },
    );
    const filledIn = {
      Road: "中山道",
      Luggage: ["Umbrella", "Rice"],
      Travellers: "2",
      "Day of departure": "2026-03-31",
    };
    expect(
      (await fakeSlack.submitModal({ eventsUrl, id: modal.id, filledIn })).errors,
    ).toBeUndefined();
    expect((await world.over(post.requestId)).outcome).toMatchObject({ type: "answer" });
    const [question, answer, ...more] = world.answersTo(post.message);
    expect(question?.text).toMatch(
      /Answered.*<@UPERSON>[\s\S]*Road: 中山道\n> Luggage: Rice, Umbrella\n> Travellers: 2\n> Day/,
    );
    expect(answer?.text).toContain(
      "road: nakasendo; luggage: umbrella, rice; travellers: 2; day: 2026-03-31",
    );
    expect(more).toEqual([]);
  },

  async "a file of the message is read by the agent, and an artifact comes back as a file"(
    world: E2eWorld,
  ) {
    const files = [{ name: "notes.txt", mimetype: "text/plain", bytes }];
    const post = world.ask("private: read files, and an image please", { files });
    await world.over(post.requestId);
    const answers = world.answersTo(post.message);
    expect(textsOf(answers)).toContain(`notes.txt: ${bytes.length} bytes, sha256 ${sha256}`);
    const [gate, ...more] = answers.flatMap((message) => message.files ?? []);
    expect([gate?.name, more]).toEqual(["gate.png", []]);
    expect(world.fakeSlack.file(gate?.id ?? "")?.bytes.subarray(1, 4)).toEqual(Buffer.from("PNG"));
  },

  async "progress is seen in the placeholder, and the answer takes its place"(world: E2eWorld) {
    const post = world.ask("private, slow 4s progress");
    await inThread(world, post, ({ text }) => /Step \d of 5\n.*%/.test(text));
    await world.over(post.requestId);
    expect(world.answersTo(post.message)).toEqual([
      expect.objectContaining({ text: expect.stringContaining("I'm the echo agent") }),
    ]);
  },

  async "an answer is seen while it is written"(world: E2eWorld) {
    const post = world.ask("private, slow 4s stream");
    const streamed = new Set<string>();
    const stop = world.fakeSlack.onChange((change) => {
      if (change.type !== "message" || change.message.threadTs !== post.message.ts) return;
      const { stream, text, ts } = change.message;
      if (stream?.state === "open" && text.includes("traveller")) streamed.add(ts);
    });
    await world.over(post.requestId);
    stop();
    const [answer, ...more] = world.answersTo(post.message);
    expect([answer?.text, more]).toEqual([
      expect.stringContaining("nobody was left standing at the gate without a word"),
      [],
    ]);
    expect([...streamed]).toEqual([answer?.ts]);
    expect(answer?.stream?.state).toBe("closed");
  },

  async "a reply without a mention is a further task, which knows what was said before"(
    world: E2eWorld,
  ) {
    const first = world.ask("private first");
    await world.over(first.requestId);
    const { eventsUrl, fakeSlack } = world;
    const threadTs = first.message.ts;
    const attachments = [
      { color: "danger", title: "DiskFull", fields: [{ title: "host", value: "web-3" }] },
    ];
    fakeSlack.postAsOtherBot({ channel: first.message.channel, threadTs, text: "", attachments });
    const forwards = [
      { is_share: true, is_msg_unfurl: true, author_name: "robin", text: "The *backup* failed" },
    ];
    const second = fakeSlack.reply({
      eventsUrl,
      threadTs,
      text: "private second",
      attachments: forwards,
    });
    await world.over(second.requestId);
    // The record that is over holds them no more.
    const sentTasks = world.observations
      .map(({ task }) => task)
      .filter(({ id }) => id === second.requestId);
    const params = sentTasks.find((task) => task.call?.params !== undefined)?.call?.params;
    const quotation = "Forwarded message from robin:\n> The **backup** failed";
    expect(params).toMatchObject({ text: `private second\n\n${quotation}`, thread_ts: threadTs });
    expect(params?.history).toEqual([
      expect.objectContaining({ role: "user", text: "private first", user_id: "UPERSON" }),
      expect.objectContaining({
        role: "assistant",
        text: expect.stringContaining("I'm the echo agent"),
      }),
      expect.objectContaining({
        role: "user",
        text: "(danger) DiskFull\nhost: web-3",
        bot: true,
        name: "Monitoring",
      }),
    ]);
    expect(textsOf(fakeSlack.thread(first.message))).toMatch(/You wrote:\nprivate second/);
  },

  async "the button of the placeholder cancels, down to the agent"(world: E2eWorld) {
    const post = world.ask("private, slow 30s");
    await until(() =>
      world.observations.some(({ task }) => task.id === post.requestId && task.state === "waiting"),
    );
    const { channel, ts } = await withButton(world, post, "Cancel");
    world.fakeSlack.clickButton({ eventsUrl: world.eventsUrl, channel, ts, label: "Cancel" });
    expect((await world.over(post.requestId)).outcome).toMatchObject({
      type: "failed",
      reason: "canceled",
    });
    expect(world.answersTo(post.message)).toHaveLength(1);
    await until(() =>
      world.lines.some((line) => line.includes('"task_ended"') && line.includes(post.requestId)),
    );
  },
};
const worlds = new Map<TransportName, { world: E2eWorld; told: ReturnType<typeof together> }>();

function toldOver(transport: TransportName) {
  const found = worlds.get(transport);
  if (found === undefined) throw new Error("There is no such world.");
  return found;
}

// All at once: most of a story is waiting.
beforeAll(async () => {
  for (const transport of transports) {
    const world = await startWorld({ transport });
    worlds.set(transport, {
      world,
      told: together<[E2eWorld]>(stories, world),
    });
  }
});
afterAll(() => Promise.all([...worlds.values()].map(({ world }) => world.close())));

describe.each(transports)("over %s", (transport) => {
  it.each(Object.keys(stories))("completes the story: %s", (name) =>
    toldOver(transport).told.get(name),
  );

  it("keeps secrets out of stores, and secrets and texts out of log lines", async () => {
    const { world, told: storyRuns } = toldOver(transport);
    await Promise.allSettled(storyRuns.values());
    const lines = world.lines.filter((line) =>
      /private|echo agent|traveller|Shall I|notes\.txt|Step \d|signature=/.test(line),
    );
    expect(lines).toEqual([]);
    for (const secret of Object.values(world.secrets)) {
      expect(world.lines.filter((line) => line.includes(secret))).toEqual([]);
      expect(world.stored().includes(secret)).toBe(false);
    }
    expect(world.stored()).toContain("private bytes of a file");
  });
});
