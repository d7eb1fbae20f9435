import { describe, expect, it } from "@jest/globals";
import type { SlackApi } from "../../../../lambdas/verification/slack/api/slack.ts";
import { workspace } from "../../../../lib/local/fake-slack/workspace.ts";
import { appId, failure, requestId, slackClient, text } from "./slack-client.ts";

const client = slackClient();

function replies(slack: SlackApi, oldestTs?: string) {
  const { common, asked } = client();
  return slack.replies({ ...common, threadTs: asked.ts, oldestTs: oldestTs ?? asked.ts, appId });
}

describe("the messages of a thread", () => {
  it("tell a post by its metadata, and who wrote what", async () => {
    const { api, post, asked, fakeSlack, common } = client();
    const { ts } = await post(api(), 3);
    const other = fakeSlack.postAsOtherBot({ channel: common.channel, threadTs: asked.ts, text: "Buy now!" });
    const nothing = { key: undefined, fileIds: [] };
    expect(await replies(api())).toEqual([
      {
        ...nothing,
        ts: asked.ts,
        text: `<@${workspace.botUser}> What is a sekisho?`,
        from: "person",
        user: workspace.person,
      },
      { ...nothing, ts, text, key: { requestId, part: 3 }, from: "self", user: workspace.botUser },
      { ...nothing, ts: other.ts, text: "Buy now!", from: "other_bot", user: other.user },
    ]);
  });

  it("have no key on a post of another app, whatever its metadata say", async () => {
    const { api, post, asked, common } = client();
    const { ts } = await post(api(), 3);
    const found = await api().replies({ ...common, threadTs: asked.ts, oldestTs: ts, appId: "AOTHER" });
    expect(found).toEqual([expect.objectContaining({ ts, text, key: undefined, from: "other_bot" })]);
  });

  it("are read from all pages, oldest first, each once", async () => {
    const { api, post, asked, calls } = client();
    const posted: string[] = [];
    for (let part = 0; part < 13; part++) posted.push((await post(api(), part)).ts);
    expect((await replies(api())).map(({ ts }) => ts)).toEqual([asked.ts, ...posted]);
    expect(calls.filter((method) => method === "conversations.replies").length).toBe(3);
  });

  it("are read from the oldest one asked for, without the parent that Slack adds", async () => {
    const { api, post } = client();
    const [, second, third] = [await post(), await post(), await post()];
    expect((await replies(api(), second.ts)).map(({ ts }) => ts)).toEqual([second.ts, third.ts]);
  });

  it("are none in a thread that does not exist", async () => {
    const { api, common } = client();
    expect(await api().replies({ ...common, threadTs: "1.000001", oldestTs: "1.000001", appId })).toEqual([]);
  });

  it("name the files that they carry", async () => {
    const { api, fakeSlack, common } = client();
    const file = { name: "a.txt", mimetype: "text/plain", bytes: Buffer.from("a") };
    const { ts } = fakeSlack.ask({ eventsUrl: fakeSlack.apiUrl, text: "Read this", files: [file] }).message;
    const [found] = await api().replies({ ...common, threadTs: ts, oldestTs: ts, appId });
    expect(found?.fileIds.length).toBe(1);
    expect(fakeSlack.file(found?.fileIds[0] ?? "")?.name).toBe("a.txt");
  });
});

describe("the messages of a channel", () => {
  it("are those that are in no thread, from the oldest one asked for, oldest first", async () => {
    const { api, post, common, asked, calls } = client();
    await post();
    const posted: string[] = [];
    for (let part = 0; part < 7; part++) {
      const key = { requestId, part };
      posted.push((await api().post({ ...common, threadTs: undefined, content: { text }, key })).ts);
    }
    const found = await api().posts({ ...common, oldestTs: posted[1] ?? "", appId });
    expect(found.map(({ ts }) => ts)).toEqual(posted.slice(1));
    expect(found.map(({ key }) => key?.part)).toEqual([1, 2, 3, 4, 5, 6]);
    expect((await api().posts({ ...common, oldestTs: asked.ts, appId }))[0]?.ts).toBe(asked.ts);
    expect(calls.filter((method) => method === "conversations.history").length).toBeGreaterThan(2);
  });

  it("are unknown where the channel is none: that is no empty one", async () => {
    const { api, common } = client();
    const call = api().posts({ ...common, channel: "CNOWHERE", oldestTs: "1.000001", appId });
    expect(await failure(call)).toMatchObject({ kind: "gone", slackError: "channel_not_found" });
  });
});
