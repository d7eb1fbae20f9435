import { describe, expect, it } from "@jest/globals";
import { workspace } from "@sekisho/local/fake-slack/workspace.ts";
import { failure, slackClient } from "./slack-client.ts";

const client = slackClient();

function start(markdown = "It is a ") {
  const { api, common, asked } = client();
  return api().startStream({
    ...common,
    threadTs: asked.ts,
    user: workspace.person,
    team: workspace.team,
    markdown,
  });
}

describe("a native stream", () => {
  it("appends to one message until the stream is stopped", async () => {
    const { api, common, asked, fakeSlack } = client();
    const { ts } = await start();
    await api().appendStream({ ...common, ts, markdown: "checkpoint." });
    const message = () => fakeSlack.messages().find((one) => one.ts === ts);
    expect(message()).toMatchObject({
      threadTs: asked.ts,
      text: "It is a checkpoint.",
      stream: { state: "open" },
    });
    await api().stopStream({ ...common, ts });
    expect(message()?.stream).toMatchObject({ state: "closed" });
  });

  it.each(["started", "appended to", "stopped"])(
    "requests no link preview when a stream is %s",
    async (step) => {
      const { api, common, fakeSlack } = client();
      const { ts } = await start("https://a.example ");
      if (step !== "started")
        await api().appendStream({ ...common, ts, markdown: "https://b.example " });
      if (step === "stopped") await api().stopStream({ ...common, ts });
      expect(fakeSlack.messages().find((one) => one.ts === ts)?.unfurls).toBeUndefined();
    },
  );

  it("stops a stream that has ended already", async () => {
    const { api, common, lines } = client();
    const { ts } = await start();
    await api().stopStream({ ...common, ts });
    await api().stopStream({ ...common, ts });
    expect(lines).toEqual([]);
  });

  it("refuses to append after the end of the stream", async () => {
    const { api, common } = client();
    const { ts } = await start();
    await api().stopStream({ ...common, ts });
    const error = await failure(api().appendStream({ ...common, ts, markdown: "more" }));
    expect(error).toMatchObject({
      kind: "no_such_message",
      slackError: "message_not_in_streaming_state",
    });
  });

  it("cannot edit a message while it is streamed", async () => {
    const { api, common } = client();
    const { ts } = await start();
    const key = { requestId: common.requestId, kind: "answer", index: 0 } as const;
    const error = await failure(api().update({ ...common, ts, content: { text: "Done." }, key }));
    expect(error).toMatchObject({ kind: "unavailable", slackError: "streaming_state_conflict" });
  });

  it.each(["status", "lost_answer"] as const)(
    "does not repeat a start or an append after the failure %s",
    async (type) => {
      const { api, common, fakeSlack, waits } = client();
      fakeSlack.inject({ method: "chat.startStream", type, status: 500 });
      expect((await failure(start())).kind).toBe("ambiguous");
      const { ts } = await start();
      fakeSlack.inject({ method: "chat.appendStream", type, status: 500 });
      expect((await failure(api().appendStream({ ...common, ts, markdown: "twice?" }))).kind).toBe(
        "ambiguous",
      );
      expect(waits).toEqual([]);
    },
  );

  it("repeats a stop after a lost answer", async () => {
    const { api, common, fakeSlack, waits } = client();
    const { ts } = await start();
    fakeSlack.inject({ method: "chat.stopStream", type: "lost_answer" });
    await api().stopStream({ ...common, ts });
    expect(waits.length).toBe(1);
  });

  it.each([
    ["channel_type_not_supported", "refused"],
    ["missing_scope", "refused"],
    ["not_allowed_token_type", "refused"],
    ["missing_recipient_user_id", "refused"],
    ["unknown_method", "refused"],
    ["is_archived", "gone"],
    ["message_limit_exceeded", "rate_limited"],
  ])("reports a stream that cannot start because of %s as %s", async (error, kind) => {
    const { fakeSlack } = client();
    for (let times = 0; times < 3; times++)
      fakeSlack.inject({ method: "chat.startStream", type: "error", error });
    expect(await failure(start())).toMatchObject({ kind, slackError: error });
  });

  it("refuses to append after a person stopped the stream", async () => {
    const { api, common, fakeSlack } = client();
    const { ts } = await start();
    const thread = { channel: common.channel, threadTs: fakeSlack.messages()[0]?.ts ?? "" };
    await api().setSession({ ...common, ...thread, status: "processing", user: workspace.person });
    fakeSlack.stopSession({ eventsUrl: fakeSlack.apiUrl, ...thread });
    const stopError = { kind: "refused", slackError: "stopped_by_user" };
    expect(await failure(api().appendStream({ ...common, ts, markdown: "more" }))).toMatchObject(
      stopError,
    );
    expect(await failure(api().stopStream({ ...common, ts }))).toMatchObject(stopError);
  });
});
