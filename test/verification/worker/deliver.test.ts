import { describe, expect, it } from "@jest/globals";
import {
  type PostKey,
  type SlackApi,
  SlackError,
  type SlackErrorKind,
} from "../../../lambdas/verification/slack/slack.ts";
import { announce } from "../../../lambdas/verification/worker/announce.ts";
import { deliver, sweep } from "../../../lambdas/verification/worker/deliver.ts";
import { sampleTask } from "../task/sample.ts";

const task = sampleTask({
  state: "delivering",
  placeholderTs: "1.0",
  outcome: { type: "answer", text: "A checkpoint." },
});
const answerText = { placeholder: () => "Working on it", parts: () => ["A checkpoint."] };
const signal = new AbortController().signal;

/** A thread with the placeholder (or the answer that it became), in which some methods fail. */
function slackThread(failing: Partial<Record<keyof SlackApi, SlackErrorKind>> = {}, part = 0) {
  let posts: { ts: string; text: string; key: PostKey }[] = [
    { ts: "1.0", text: "Working on it", key: { requestId: task.id, part } },
  ];
  const check = (method: keyof SlackApi) => {
    const kind = failing[method];
    if (kind !== undefined) throw new SlackError(kind);
  };
  const slack: SlackApi = {
    async post({ text, key }) {
      check("post");
      posts.push({ ts: `${posts.length + 1}.0`, text, key });
      return { ts: `${posts.length}.0` };
    },
    async update({ ts, text, key }) {
      check("update");
      posts = posts.map((post) => (post.ts === ts ? { ts, text, key } : post));
    },
    async remove({ ts }) {
      check("remove");
      posts = posts.filter((post) => post.ts !== ts);
    },
    async react() {
      check("react");
    },
    async replies({ appId }) {
      check("replies");
      return posts.map((post) => (appId === task.message.appId ? post : { ...post, key: undefined }));
    },
  };
  return { slack, texts: () => posts.map(({ text }) => text) };
}

const request = { task, answerText, signal };

describe("a delivery", () => {
  it.each(["no_such_message", "refused"] as const)(
    "posts anew where the edit is impossible (%s), and leaves no placeholder behind",
    async (kind) => {
      const { slack, texts } = slackThread({ update: kind });
      await deliver({ ...request, slack, heal: false, nowMs: task.receivedAtMs });
      expect(texts()).toEqual(["A checkpoint."]);
    },
  );

  it("goes by the record where Slack does not let us look into the thread", async () => {
    const { slack, texts } = slackThread({ replies: "refused" });
    await deliver({ ...request, slack, heal: true, nowMs: task.receivedAtMs });
    expect(texts()).toEqual(["A checkpoint."]);
  });

  it("does not mind a reaction that cannot be removed", async () => {
    const { slack, texts } = slackThread({ react: "refused" });
    await deliver({ ...request, slack, heal: false, nowMs: task.receivedAtMs });
    expect(texts()).toEqual(["A checkpoint."]);
  });

  it("is a new message after a minute, since an edit notifies nobody", async () => {
    const { slack, texts } = slackThread({ update: "gone" });
    const announced = { ...task, announcedAtMs: task.receivedAtMs };
    await deliver({ ...request, task: announced, slack, heal: false, nowMs: task.receivedAtMs + 60_001 });
    expect(texts()).toEqual(["A checkpoint."]);
  });
});

it("the sweep deletes nothing where Slack does not let us look", async () => {
  const { slack, texts } = slackThread({ replies: "refused" }, 1);
  await expect(sweep({ ...request, slack })).rejects.toMatchObject({ kind: "refused" });
  expect(texts()).toHaveLength(1);
});

it("an announcement is made although Slack does not let us look for an earlier one", async () => {
  const { slack, texts } = slackThread({ replies: "refused" });
  const { placeholderTs: _none, ...received } = task;
  await announce({ ...request, task: { ...received, state: "received" }, slack, heal: true });
  expect(texts()).toHaveLength(2);
});
