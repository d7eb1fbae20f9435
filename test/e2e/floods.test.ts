/** Many people ask, click and type for what they may not have: what the bot posts, and whether others are answered. */
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as wait } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { createEventPayload } from "@sekisho/local/fake-slack/payloads.ts";
import { sendEvent } from "@sekisho/local/signed-events.ts";
import { maxRefusalsPerTeam, maxRefusalsPerUser } from "@sekisho/verification/gate/refusals.ts";
import { type E2eWorld, startWorld, textsOf, withButton } from "./world.ts";

/** Bounds a flood that hangs: each is hundreds of requests. */

const times = 20;
const channels = ["CSTANDIN", "CRANDOM", "CSHARED", "DSTANDIN"] as const;
const strangers = ["UONE", "UTWO", "UTHREE", "UFOUR", "UOUTSIDER"] as const;

/** The calls by which anything of ours comes into a channel. */
const posting = new Set([
  "chat.postMessage",
  "chat.postEphemeral",
  "chat.update",
  "files.completeUploadExternal",
]);

describe("a flood", () => {
  let world: E2eWorld;
  let question: { channel: string; ts: string };
  let thread: { channel: string; ts: string };
  let post: { requestId: string; message: { channel: string; ts: string } };
  const calls: { method: string; user: string | undefined }[] = [];
  /** Ephemeral messages that Slack was asked for. It refuses most of them here, because few of these people are in the channel. */
  let notices = 0;

  beforeAll(async () => {
    world = await startWorld({
      transport: "in-process",
      allowed: false,
      allowlist: [{ user: "UPERSON" }, { user: "UHANAKO" }, { group: "SNOBODY" }],
      slack: { locale: "en", command: { name: "/sekisho" } },
      // Slack's own are minutes long, and a busy machine does not answer every request of a flood within Slack's three seconds.
      retryDelaysMs: [1000],
    });
    // A notice that the channel does not show is refused there, and goes to the person directly.
    world.fakeSlack.onCall(({ method, args, reply }) => {
      if (method === "chat.postEphemeral") notices += 1;
      if (posting.has(method) && reply.ok)
        calls.push({ method, user: (args as { user?: string }).user });
    });
    const first = world.ask("private, ask me");
    post = first;
    question = await withButton(world, first, "Yes");
    thread = first.message;
  });
  afterAll(() => world?.close());

  /**
   * Resolves when the worker has dealt with everything that it was given: no message of its queue is due or being handled. A busy machine
   * may be silent for seconds before that.
   */
  async function settled(): Promise<void> {
    const file = new DatabaseSync(join(world.folder, ".sekisho", "verification.db"), {
      readOnly: true,
    });
    try {
      const count = file.prepare(
        "SELECT count(*) AS n FROM messages WHERE receive_count > 0 OR visible_at_ms <= ?",
      );
      for (let quiet = 0; quiet < 3; quiet = count.get(Date.now() + 2000)?.n === 0 ? quiet + 1 : 0)
        await wait(200);
    } finally {
      file.close();
    }
  }

  it("limits refusals to three per person and thirty per workspace, and shows them only to the person", async () => {
    const { fakeSlack, eventsUrl, secrets } = world;
    const posts = fakeSlack.messages().length;
    const callsBefore = calls.length;
    const said: Promise<unknown>[] = [];
    const send = (payload: unknown) =>
      said.push(
        sendEvent({ eventsUrl, signingSecret: secrets.signingSecret, payload, retryDelaysMs: [] }),
      );
    const theirs: string[] = [];
    for (let n = 0; n < times; n++) {
      for (const user of strangers) {
        const channel = channels[n % channels.length] ?? "CSTANDIN";
        for (const { message, delivered } of [
          world.ask("private, let me in", { user, channel }),
          world.ask("private, in the thread", {
            user,
            channel: thread.channel,
            threadTs: thread.ts,
          }),
          fakeSlack.reply({
            eventsUrl,
            text: "Yes",
            user,
            channel: thread.channel,
            threadTs: thread.ts,
          }),
        ]) {
          theirs.push(message.ts);
          said.push(delivered);
          const again = createEventPayload({ event: "message", message });
          const { event } = again;
          send(again);
          send({ ...again, event: { ...event, edited: { user, ts: message.ts } } });
          send({
            ...again,
            event: { ...event, subtype: "message_changed", message: event, hidden: true },
          });
          send({
            ...again,
            event: { ...event, ts: `${Number(message.ts) + 1000}`, bot_id: "BOTHER" },
          });
        }
        said.push(fakeSlack.command({ eventsUrl, text: "private", user, channel }).delivered);
        said.push(fakeSlack.clickButton({ eventsUrl, ...question, label: "Yes", user }).delivered);
      }
    }
    await Promise.all(said);
    await settled();
    const storyRuns = calls.slice(callsBefore);
    expect(storyRuns.length).toBeLessThanOrEqual(
      Math.min(maxRefusalsPerTeam, strangers.length * maxRefusalsPerUser),
    );
    expect(notices).toBeGreaterThan(0);
    const isOurs = ({ ts }: { ts: string }) => !theirs.includes(ts);
    const ours = fakeSlack.messages().slice(posts).filter(isOurs);
    expect(ours.filter(({ channel }) => !channel.startsWith("D"))).toEqual([]);
  });

  it("still delivers answers and accepts replies of others after a flood of refused requests", async () => {
    const { fakeSlack, eventsUrl } = world;
    fakeSlack.clickButton({ eventsUrl, ...question, label: "Yes", user: "UPERSON" });
    expect((await world.over(post.requestId)).outcome).toMatchObject({ type: "answer" });
    expect(textsOf(fakeSlack.thread(thread))).toContain("Shall I go on? yes");
  });
});
