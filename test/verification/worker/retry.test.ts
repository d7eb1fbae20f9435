/** An operator's retry of a task that is over. */
import { describe, expect, it } from "@jest/globals";
import { SlackError } from "../../../lambdas/verification/slack/api/slack.ts";
import { readMessageText } from "../../../lambdas/verification/worker/acts.ts";
import { askedAtMs, sampleAsk, sampleTask } from "../task/sample.ts";
import { createWorld } from "./world.ts";

const first = sampleAsk();
const requestId = "00000000-0000-5000-8000-000000000009";
const retry = { ...first, requestId, retryOf: first.requestId, message: { ...first.message, text: "" } };

describe("a retry", () => {
  it("is a task of its own, with the text that Slack has, however old the message is", async () => {
    const later = { ...retry, receivedAtMs: askedAtMs + 20 * 24 * 3600_000 };
    const world = createWorld({ inSlack: [{ ts: first.message.ts, text: "<@U0BOT> What is it?" }] });
    world.deliver({ ...later, message: { ...later.message, botUsers: ["U0BOT"] } });
    world.pass(20 * 24 * 3600_000);
    await world.run();
    expect(world.answers()).toEqual(["A checkpoint."]);
    expect(world.sent.map(({ text }) => text)).toEqual(["What is it?"]);
    expect(world.records.get(requestId)).toMatchObject({
      retryOf: first.requestId,
      state: "done",
      message: { text: "" },
    });
  });

  it("says so where the message is gone, and waits where Slack is away", async () => {
    const gone = createWorld();
    gone.deliver(retry);
    await gone.run();
    expect(gone.answers()).toEqual(['{"type":"unreadable"}']);
    let away = 2;
    const back = createWorld({
      inSlack: [{ ts: first.message.ts, text: "What is it?" }],
      fate: ({ name }) => (name === "replies" && away-- > 0 ? "refused" : "ok"),
    });
    back.deliver(retry);
    await back.run();
    expect(back.answers()).toEqual(["A checkpoint."]);
  });

  it("rejects as Slack does", async () => {
    const slack = { replies: () => Promise.reject(new SlackError("gone")) };
    const task = sampleTask();
    const signal = new AbortController().signal;
    const reading = readMessageText({
      slack: slack as unknown as Parameters<typeof readMessageText>[0]["slack"],
      task,
      signal,
    });
    await expect(reading).rejects.toMatchObject({ kind: "gone" });
  });
});
