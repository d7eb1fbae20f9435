/** The person who asked tries a failed task again by its button: one new task in the same thread, with one answer. */
import { describe, expect, it } from "@jest/globals";
import { SekishoError } from "@sekisho/contracts/errors.ts";
import { isOutcome } from "@sekisho/verification/slack/api/post-keys.ts";
import { createTaskText } from "@sekisho/verification/slack/messages/task-text.ts";
import type { ButtonClick } from "@sekisho/verification/task/messages.ts";
import { buttonRetryIdOf } from "@sekisho/verification/task/retry.ts";
import { deaths, nthFault, type Operation } from "../../world/faults.ts";
import { createWorld } from "../../world/world.ts";
import { askedAtMs, numberedAsk, sampleAsk, sampleFile } from "../task/sample.ts";
import { sampleClick } from "./sample-click.ts";

const ask = sampleAsk({ text: "What is a sekisho?" });
const retryId = buttonRetryIdOf({ id: ask.requestId });
const { parts, withoutRetry } = createTaskText({ locale: "en", contact: "<@U9>" });

type World = ReturnType<typeof createWorld>;
type Options = Parameters<typeof createWorld>[0];

const click = (changes: Partial<ButtonClick> = {}): ButtonClick =>
  sampleClick({ type: "retry" }, { atMs: askedAtMs + 600_000, ...changes });

/** The agent fails at the first task, and does what `story` says at the retry. */
function failedWorld({ asked = ask, ...options }: Options & { asked?: typeof ask } = {}): World {
  const text = { parts, withoutRetry };
  const { ts, text: originalText } = ask.message;
  const story = (requestId: string) => {
    if (requestId === ask.requestId) throw new SekishoError("execution_failed");
    return { status: "success" as const, response_text: "A checkpoint." };
  };
  const world = createWorld({ text, story, inSlack: [{ ts, text: originalText }], ...options });
  world.deliver(asked);
  return world;
}

const answersOf = ({ posts }: World, requestId: string) =>
  posts.filter(({ key }) => key?.requestId === requestId && isOutcome(key)).map(({ text }) => text);
const buttonsOf = ({ posts }: World) =>
  posts.filter(({ key, hasButtons }) => key?.requestId === ask.requestId && hasButtons).length;

describe("the button to try again", () => {
  it("keeps the retry button below the failure after the cleanup", async () => {
    const world = failedWorld();
    await world.run();
    expect(world.taskOf(ask)?.textsErased).toBe(true);
    expect(buttonsOf(world)).toBe(1);
  });

  it("keeps the retry button below one of two posts of the failure", async () => {
    const world = failedWorld();
    await world.run({ until: () => world.answers().length === 1 });
    const [failure] = world.posts.filter(({ hasButtons }) => hasButtons);
    if (failure === undefined) throw new Error("There is no button.");
    world.posts.push({ ...failure, ts: String(Number(failure.ts) + 1) });
    await world.run();
    expect([answersOf(world, ask.requestId).length, buttonsOf(world)]).toEqual([1, 1]);
  });

  it("runs the same message as a new task in the thread and removes the button", async () => {
    const world = failedWorld();
    await world.run();
    await world.clickButton(click()).run();
    expect(world.starts).toEqual([ask.requestId, retryId]);
    expect(world.sent.map(({ text }) => text)).toEqual([
      "What is a sekisho?",
      "What is a sekisho?",
    ]);
    expect(answersOf(world, retryId)).toEqual([expect.stringContaining("A checkpoint.")]);
    expect(world.posts.every(({ threadTs }) => threadTs === ask.message.ts)).toBe(true);
    const [failure, ...others] = answersOf(world, ask.requestId);
    expect(failure).toContain("The agent couldn't finish this.");
    expect(others).toEqual([]);
    expect(buttonsOf(world)).toBe(0);
    // The message is marked as done, not as failed.
    expect([...world.marks]).toEqual([`${ask.message.ts} check`]);
  });

  it("retries once for repeated clicks and deliveries", async () => {
    const world = failedWorld();
    await world.run();
    world.clickButton(click());
    world.clickButton(click());
    await world.clickButton(click({ atMs: askedAtMs + 600_200 })).run();
    expect(world.starts).toEqual([ask.requestId, retryId]);
    expect(answersOf(world, retryId)).toHaveLength(1);
    await world.clickButton(click({ atMs: askedAtMs + 900_000 })).run();
    expect(world.starts).toHaveLength(2);
    expect(world.ephemeralMessages.map(({ text }) => text)).toContain('{"type":"retried"}');
  });

  it("retries after the task is over if the click came before", async () => {
    const world = failedWorld();
    await world.run();
    world.changeTask(ask, { state: "delivering" });
    await world.clickButton(click({ atMs: world.now() })).run({ maxSteps: 2 });
    expect(world.starts).toEqual([ask.requestId]);
    world.changeTask(ask, { state: "done" });
    await world.run();
    expect(world.starts).toEqual([ask.requestId, retryId]);
  });

  it("retries again below a retry that failed", async () => {
    const story = () => {
      throw new SekishoError("unavailable");
    };
    const world = failedWorld({ story });
    await world.run();
    await world.clickButton(click()).run();
    await world.clickButton(click({ requestId: retryId, atMs: askedAtMs + 9_000_000 })).run();
    const last = world.records.get(buttonRetryIdOf({ id: retryId }));
    expect(last).toMatchObject({
      retryOf: ask.requestId,
      state: "done",
      outcome: { type: "failed" },
    });
  });

  it("refuses a retry click of another person", async () => {
    const world = failedWorld();
    await world.run();
    await world.clickButton(click({ user: "U2" })).run();
    expect(world.ephemeralMessages).toMatchObject([{ user: "U2", text: '{"type":"not_yours"}' }]);
    expect(world.starts).toEqual([ask.requestId]);
  });

  it.each<[string, Partial<ButtonClick>]>([
    ["from another workspace", { userTeam: "T2" }],
    ["from another channel", { channel: "C2" }],
  ])("ignores a retry click %s", async (_what, changes) => {
    const world = failedWorld();
    await world.run();
    await world.clickButton(click(changes)).run();
    expect(world.starts).toEqual([ask.requestId]);
  });

  it("refuses a retry by a person who is no longer allowed", async () => {
    const world = failedWorld({ gate: { mayAskThere: async () => false } });
    await world.run();
    await world.clickButton(click()).run();
    expect(world.ephemeralMessages).toMatchObject([{ user: "U1", text: '{"type":"not_allowed"}' }]);
    expect(world.starts).toEqual([ask.requestId]);
  });

  it.each<[string, { text: string; files?: (typeof sampleFile)[] }, string[], string]>([
    ["edited", { text: "What is a barrier?" }, ["What is a barrier?"], "A checkpoint."],
    ["edited into a word to cancel", { text: "cancel" }, [], "This was canceled."],
    ["deleted", { text: "" }, [], "This was canceled."],
  ])(
    "retries the message as it is when its turn comes: %s while another task ran",
    async (_what, newest, texts, answer) => {
      const slackMessages = [{ ts: ask.message.ts, text: ask.message.text }];
      const world = failedWorld({ inSlack: slackMessages, pollsUntilDone: 3 });
      await world.run();
      const other = numberedAsk(2, {
        ts: `${askedAtMs / 1000 + 300}.5`,
        threadTs: ask.message.ts,
        text: "Another one",
      });
      await world.deliver(other).run({ until: () => world.taskOf(other)?.state === "waiting" });
      await world
        .clickButton(click())
        .run({ until: () => world.records.get(retryId)?.state === "queued" });
      slackMessages[0] = { ts: ask.message.ts, ...newest };
      await world.run();
      expect(world.sent.map(({ text }) => text)).toEqual([
        ask.message.text,
        "Another one",
        ...texts,
      ]);
      expect(answersOf(world, retryId)).toEqual([expect.stringContaining(answer)]);
    },
  );

  it("keeps the retry button while the person is over a limit", async () => {
    let over: { by: "user"; retryAtMs: number } | undefined = {
      by: "user",
      retryAtMs: askedAtMs + 4_200_000,
    };
    const { buttonClickRefused } = createTaskText({ locale: "en" });
    const world = failedWorld({
      gate: { findOver: async () => over },
      text: { parts, withoutRetry, buttonClickRefused },
    });
    await world.run();
    await world.clickButton(click()).run();
    expect(world.ephemeralMessages).toMatchObject([
      { user: "U1", text: expect.stringContaining("in 60 minutes (") },
    ]);
    expect([world.starts, buttonsOf(world)]).toEqual([[ask.requestId], 1]);
    over = undefined;
    await world.clickButton(click({ atMs: askedAtMs + 4_300_000 })).run();
    expect([world.starts, buttonsOf(world)]).toEqual([[ask.requestId, retryId], 0]);
  });

  it("ignores a retry click on an answered task", async () => {
    const world = failedWorld({ story: () => ({ status: "success", response_text: "Done." }) });
    await world.run();
    await world.clickButton(click()).run();
    expect(world.starts).toEqual([ask.requestId]);
  });
});

describe("a message with files", () => {
  const askWithFile = { ...ask, message: { ...ask.message, files: [sampleFile] } };
  const inSlack = [
    { ts: ask.message.ts, text: ask.message.text, fileIds: ["F1"], files: [sampleFile] },
  ];

  it("retries a message with its files", async () => {
    const world = failedWorld({ asked: askWithFile, inSlack });
    await world.run();
    await world.clickButton(click()).run();
    expect(world.sent).toMatchObject([
      { attachments: [{ id: "F1" }] },
      { attachments: [{ id: "F1" }] },
    ]);
    expect(answersOf(world, retryId)).toEqual([expect.stringContaining("A checkpoint.")]);
  });

  it("refuses a retry if the files of the message are gone", async () => {
    const world = failedWorld({ asked: askWithFile });
    await world.run();
    await world.clickButton(click()).run();
    expect(answersOf(world, retryId)).toEqual([
      expect.stringContaining("The files in the original message are no longer available"),
    ]);
    expect(world.starts).toEqual([ask.requestId]);
  });

  it("refuses a retry if one of the files can no longer be read", async () => {
    const { url: _url, ...fileWithoutUrl } = sampleFile;
    const isOfRetry = (id: string) => id === retryId;
    const files = {
      importAttachments: async ({ task }: { task: { id: string } }) =>
        isOfRetry(task.id) ? [] : [{ ...fileWithoutUrl, url: "https://files.example/F1" }],
    };
    const world = failedWorld({
      asked: askWithFile,
      inSlack: [{ ...inSlack[0], files: [fileWithoutUrl] } as never],
      files,
    });
    await world.run();
    await world.clickButton(click()).run();
    expect(answersOf(world, retryId)).toEqual([
      expect.stringContaining("I couldn't get `plan.pdf` from Slack"),
    ]);
    expect(world.starts).toEqual([ask.requestId]);
  });
});

describe("a click whose worker dies", () => {
  it.each(deaths)(
    "a worker death (%s) at any operation of a click leads to one retry with one answer",
    async (fault) => {
      let operations = 0;
      const count = (): undefined => {
        operations += 1;
      };
      const base = failedWorld({ fault: count });
      await base.run();
      const operationCount = operations;
      await base.clickButton(click()).run();
      expect(operations - operationCount).toBeGreaterThan(20);
      for (let nth = operationCount; nth < operations; nth++) {
        const world = failedWorld({ fault: nthFault(nth, fault, (_: Operation) => true) });
        await world.run();
        await world.clickButton(click()).run();
        expect([nth, world.starts]).toEqual([nth, [ask.requestId, retryId]]);
        expect([nth, answersOf(world, retryId)]).toEqual([
          nth,
          [expect.stringContaining("A checkpoint.")],
        ]);
        expect([nth, answersOf(world, ask.requestId).length]).toEqual([nth, 1]);
      }
    },
  );
});
