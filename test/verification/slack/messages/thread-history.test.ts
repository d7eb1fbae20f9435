/** What the Execution zone gets to read of a thread, within the contract's limits. */
import { describe, expect, it } from "@jest/globals";
import { executeTaskParamsSchema } from "@sekisho/contracts/methods.ts";
import type { PostKind } from "@sekisho/verification/slack/api/post-keys.ts";
import type { PostedMessage } from "@sekisho/verification/slack/api/slack.ts";
import { readMessageText } from "@sekisho/verification/slack/context/message.ts";
import { createTaskText } from "@sekisho/verification/slack/messages/task-text.ts";
import { createThreadHistory } from "@sekisho/verification/slack/messages/thread-history.ts";
import type { Task, TaskOutcome } from "@sekisho/verification/task/task.ts";
import fc from "fast-check";
import { sampleTask } from "../../task/sample.ts";

const message = { ts: "1000.000000" };

const mayRead = () => true;

function createPost(ts: number, text: string, other: Partial<PostedMessage> = {}): PostedMessage {
  const markdown = readMessageText({ message: { text }, botUsers: ["UBOT"], maxLength: 40_000 });
  return {
    ts: ts.toFixed(6),
    text,
    markdown,
    key: undefined,
    from: "person",
    user: "U1",
    fileIds: [],
    ...other,
  };
}

function ours(ts: number, text: string, kind?: PostKind, index = 0): PostedMessage {
  const key = kind === undefined ? undefined : { requestId: "r", kind, index };
  return createPost(ts, text, { from: "self", user: "UBOT", key });
}

describe("the history of a thread", () => {
  it("returns the earlier messages of people and the bot, oldest first, in any order of input", () => {
    const messages = [
      createPost(30, "third"),
      ours(20, "second", "answer"),
      createPost(10, "first", { user: "U2" }),
    ];
    expect(createThreadHistory({ messages, message, mayRead })).toEqual([
      { role: "user", text: "first", user_id: "U2", ts: "10.000000" },
      { role: "assistant", text: "second", ts: "20.000000" },
      { role: "user", text: "third", user_id: "U1", ts: "30.000000" },
    ]);
  });

  it("includes the agents' answers, but not the bot's refusals and failures", () => {
    const task = (outcome: TaskOutcome, mrkdwnFallback?: true) =>
      sampleTask({ state: "delivering", mrkdwnFallback, outcome });
    for (const locale of ["en", "ja"] as const) {
      const { parts } = createTaskText({ locale });
      const listOwnPosts = (task: Task, kind: PostKind) =>
        parts(task).map(({ text }, index) => ({
          ...ours(10 + index, text),
          key: { requestId: task.id, kind, index },
        }));
      const answer: TaskOutcome = { type: "answer", text: "The *answer*." };
      const texts = (messages: PostedMessage[]) =>
        createThreadHistory({ messages, message, mayRead }).map(({ text }) => text);
      expect(texts(listOwnPosts(task(answer), "answer"))).toEqual(["The _answer_."]);
      expect(texts(listOwnPosts(task(answer, true), "mrkdwn_answer"))).toEqual(["The _answer_."]);
      for (const outcome of [
        { type: "refused" },
        { type: "failed", reason: "timeout", lost: false },
      ] as const)
        expect(texts(listOwnPosts(task(outcome), "answer"))).toEqual([]);
    }
  });

  it("excludes the message itself and everything after it", () => {
    expect(
      createThreadHistory({
        messages: [createPost(1000, "the message"), createPost(1001, "later")],
        message,
        mayRead,
      }),
    ).toEqual([]);
  });

  it("includes the posts of other apps with their names", () => {
    const alert = {
      from: "other_bot",
      user: "U0ALERT",
      name: "Alertmanager",
      markdown: "(danger) **DiskFull**",
    } as const;
    const messages = [
      createPost(1, "DiskFull", alert),
      createPost(2, "deployed", { from: "other_bot", user: undefined }),
    ];
    expect(createThreadHistory({ messages, message, mayRead })).toEqual([
      {
        role: "user",
        text: "(danger) **DiskFull**",
        bot: true,
        name: "Alertmanager",
        ts: "1.000000",
      },
      { role: "user", text: "deployed", bot: true, ts: "2.000000" },
    ]);
  });

  it("converts the bot's answers back to Markdown", () => {
    const text =
      "See <https://example.com/a|the docs> for *details* of 1 &lt; 2.\n• one\n```a &amp; b```\n日\u200B*本*\u200B語";
    const messages = [ours(1, text, "answer")];
    expect(createThreadHistory({ messages, message, mayRead })[0]?.text).toBe(
      "See [the docs](https://example.com/a) for **details** of 1 < 2.\n- one\n```\na & b\n```\n日**本**語",
    );
  });

  it("names people and channels whose names are known", () => {
    const messages = [createPost(1, "<@U2> asked in <#C1>, <@U3> too")];
    const nameOf = (id: string) => ({ U2: "kim", C1: "ops" })[id];
    expect(createThreadHistory({ messages, message, mayRead, nameOf })[0]?.text).toBe(
      "@kim (U2) asked in #ops (C1), @U3 too",
    );
  });

  it("names the writers whose names are known", () => {
    const messages = [
      createPost(1, "one", { user: "U2" }),
      createPost(2, "two", { user: "U3" }),
      createPost(3, "three", { user: undefined }),
    ];
    const nameOf = (id: string) => ({ U2: "kim" })[id];
    const history = createThreadHistory({ messages, message, mayRead, nameOf });
    expect(history.map(({ user_id, name }) => [user_id, name])).toEqual([
      ["U2", "kim"],
      ["U3", undefined],
      [undefined, undefined],
    ]);
  });

  it("marks a message that was cut after its conversion to Markdown", () => {
    const [item] = createThreadHistory({
      messages: [createPost(1, "*a* ".repeat(1500))],
      message,
      mayRead,
    });
    expect(item?.text).toHaveLength(4000);
    expect(item?.text).toMatch(/…\(cut\)$/);
  });

  it("excludes the bot's placeholders, questions, openings and files, and empty messages", () => {
    const messages = [
      ...([undefined, "placeholder", "own_text", "question", "opening", "files"] as const).map(
        (kind, n) => ours(10 + n, "ours, and no answer", kind),
      ),
      ours(30, "an answer", "answer", 1),
      ours(31, "a plain answer", "mrkdwn_answer"),
      createPost(32, "  "),
    ];
    expect(createThreadHistory({ messages, message, mayRead }).map(({ text }) => text)).toEqual([
      "an answer",
      "a plain answer",
    ]);
  });

  it("keeps the newest messages within the contract's limits and never half a character", () => {
    const text = fc.oneof(
      { weight: 3, arbitrary: fc.string({ maxLength: 40 }) },
      fc.integer({ min: 3990, max: 4010 }).map((length) => `a${"😀".repeat(length / 2)}`),
      fc.integer({ min: 1, max: 5000 }).map((length) => "関".repeat(length)),
      fc.integer({ min: 1, max: 5000 }).map((length) => "\u0001".repeat(length)),
    );
    const post = fc.record({
      text,
      from: fc.constantFrom("person" as const, "self" as const, "other_bot" as const),
    });
    fc.assert(
      fc.property(fc.array(post, { maxLength: 90 }), (list) => {
        const messages = list.map(({ text: words, from }, n) =>
          from === "self" ? ours(n + 1, words, "answer") : createPost(n + 1, words, { from }),
        );
        const history = createThreadHistory({ messages, message, mayRead });
        expect(
          executeTaskParamsSchema.safeParse({ channel: "C1", text: "x", history }).success,
        ).toBe(true);
        expect(history.length).toBeLessThanOrEqual(50);
        expect(Buffer.byteLength(JSON.stringify(history))).toBeLessThanOrEqual(64 * 1024);
        for (const item of history) {
          expect(item.text.length).toBeLessThanOrEqual(4000);
          expect(item.text.isWellFormed()).toBe(true);
        }
        // The newest without a gap: each that could have been there is, from the last one on.
        const all = createThreadHistory({
          messages: messages.map((each) => ({ ...each, text: "x", markdown: "x" })),
          message,
          mayRead,
        });
        const visibleMessages = messages.filter(({ from, text: words, markdown = words }) =>
          from === "self" ? words.trim() !== "" : markdown.trim() !== "",
        );
        const newest = visibleMessages
          .slice(visibleMessages.length - history.length)
          .map(({ ts }) => ts);
        if (visibleMessages.length <= 50) expect(all.length).toBeGreaterThanOrEqual(history.length);
        expect(history.map(({ ts }) => ts)).toEqual(newest);
      }),
      { numRuns: 150, examples: [[[{ text: " ", from: "self" }]]] },
    );
  });

  it("keeps as many messages as fit: fifty short ones, or 64 KiB of long ones", () => {
    const short = Array.from({ length: 80 }, (_, n) => createPost(n + 1, `message ${n + 1}`));
    expect(
      createThreadHistory({ messages: short, message, mayRead }).map(({ text }) => text),
    ).toEqual(short.slice(30).map(({ text }) => text));
    const long = Array.from({ length: 30 }, (_, n) => createPost(n + 1, "関".repeat(4000)));
    expect(createThreadHistory({ messages: long, message, mayRead })).toHaveLength(5);
  });
});
