import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { type FakeSlack, startFakeSlack } from "@sekisho/local/fake-slack/fake-slack.ts";
import { organization, workspace } from "@sekisho/local/fake-slack/workspace.ts";
import { App, LogLevel, type types } from "@slack/bolt";
import { WebClient } from "@slack/web-api";
import { hangMs } from "../../tooling/hang.ts";

const signingSecret = "the-secret-of-these-tests";
const botToken = "xoxb-of-the-workspace";
const channel = workspace.channel.id;

let fakeSlack: FakeSlack;

beforeEach(async () => {
  fakeSlack = await startFakeSlack({
    signingSecret,
    botToken,
    triggerLifeMs: hangMs,
    answerTimeoutMs: hangMs,
  });
});
afterEach(() => fakeSlack.close());

describe("Slack's own client", () => {
  const asked = () => fakeSlack.ask({ eventsUrl: fakeSlack.apiUrl, text: "hello" }).message.ts;
  const client = () =>
    new WebClient(botToken, { slackApiUrl: fakeSlack.apiUrl, retryConfig: { retries: 0 } });

  it("accepts uploads of Slack's own client, several files as one message", async () => {
    const thread_ts = asked();
    const files = [
      { file: Buffer.from("a,b\n"), filename: "table.csv", title: "A table" },
      { file: Buffer.from("{}"), filename: "data.json" },
    ];
    await client().filesUploadV2({
      channel_id: channel,
      thread_ts,
      initial_comment: "Here",
      file_uploads: files,
    });
    const [, message] = fakeSlack.thread({ channel, ts: thread_ts });
    expect(message).toMatchObject({
      text: "Here",
      files: [{ title: "A table" }, { name: "data.json" }],
    });
    const [file] = message?.files ?? [];
    expect(Buffer.from(fakeSlack.file(file?.id ?? "")?.bytes ?? []).toString()).toBe("a,b\n");
  });

  it("accepts a streamed message of Slack's own client", async () => {
    const thread_ts = asked();
    const recipient = { recipient_team_id: workspace.team, recipient_user_id: workspace.person };
    const stream = client().chatStream({ channel, thread_ts, ...recipient, buffer_size: 4 });
    await stream.append({ markdown_text: "**Hello" });
    await stream.append({ markdown_text: " there**" });
    await stream.stop({ markdown_text: "!" });
    const [, message] = fakeSlack.thread({ channel, ts: thread_ts });
    expect(message).toMatchObject({ text: "**Hello there**!", stream: { state: "closed" } });
  });

  it("accepts blocks, ephemeral messages, a status and user look-ups of Slack's own client", async () => {
    const thread_ts = asked();
    const slack = client();
    const blocks = [{ type: "markdown", text: "**hi**" }];
    await slack.chat.postMessage({ channel, thread_ts, text: "hi", blocks });
    await slack.chat.postEphemeral({ channel, user: workspace.person, text: "psst" });
    await slack.assistant.threads.setStatus({ channel_id: channel, thread_ts, status: "thinks" });
    const { messages } = await slack.conversations.replies({ channel, ts: thread_ts });
    expect(messages?.[1]?.blocks).toEqual(blocks);
    expect((await slack.users.info({ user: "UHANAKO", include_locale: true })).user?.locale).toBe(
      "ja-JP",
    );
    await expect(slack.chat.postMessage({ channel: "CGRID", text: "hi" })).rejects.toThrow(
      "channel_not_found",
    );
  });
});

/** With an input of each type that the app uses. */
const sampleModal: types.ModalView = {
  type: "modal",
  callback_id: "sample",
  title: { type: "plain_text", text: "Sample" },
  submit: { type: "plain_text", text: "Send" },
  private_metadata: "kept",
  blocks: [
    inputOf("name", { type: "plain_text_input", max_length: 100 }),
    inputOf("count", { type: "number_input", is_decimal_allowed: true, min_value: "0.5" }),
    inputOf("day", { type: "datepicker" }),
    inputOf("one", { type: "static_select", options: optionsOf("a", "b") }),
    inputOf("several", { type: "multi_static_select", options: optionsOf("a", "b") }),
  ],
};

function optionsOf(...values: string[]): types.PlainTextOption[] {
  return values.map((value) => ({ text: { type: "plain_text", text: value }, value }));
}

function inputOf(block_id: string, element: types.InputBlock["element"]): types.InputBlock {
  return {
    type: "input",
    block_id,
    optional: true,
    label: { type: "plain_text", text: block_id },
    element: { ...element, action_id: "input" },
  };
}

type Heard = {
  body: unknown;
  context: { teamId?: string; enterpriseId?: string; isEnterpriseInstall: boolean };
  ack?: (() => Promise<void>) | undefined;
};

/** A Bolt app that keeps what it receives. */
describe("an app of Bolt", () => {
  const heard: { type: string; said: Record<string, unknown>; team: string | undefined }[] = [];
  let app: App;
  let eventsUrl: string;

  beforeAll(async () => {
    app = new App({
      signingSecret,
      logLevel: LogLevel.ERROR,
      // Bolt asks for a token with the installation that it read from the payload.
      authorize: async ({ teamId, enterpriseId, isEnterpriseInstall }) => ({
        botToken,
        botId: workspace.bot,
        botUserId: workspace.botUser,
        ...(isEnterpriseInstall ? { enterpriseId: enterpriseId ?? "" } : { teamId: teamId ?? "" }),
      }),
    });
    const note =
      (type: string) =>
      async ({ body, context: { isEnterpriseInstall, enterpriseId, teamId }, ack }: Heard) => {
        await ack?.();
        heard.push({ type, said: Object(body), team: isEnterpriseInstall ? enterpriseId : teamId });
      };
    app.event("app_mention", note("app_mention"));
    app.message(note("message"));
    app.action("sekisho_cancel", note("action"));
    app.shortcut("ask", async ({ shortcut, ack, body }) => {
      await ack();
      heard.push({ type: "shortcut", said: Object(body), team: shortcut.team?.id });
      const client = new WebClient(botToken, { slackApiUrl: fakeSlack.apiUrl });
      await client.views.open({ trigger_id: shortcut.trigger_id, view: sampleModal });
    });
    app.view("sample", async ({ ack, view, body }) => {
      heard.push({ type: "view", said: Object(view.state.values), team: body.team?.id });
      if (view.state.values.count?.input?.value === "7") await ack();
      else await ack({ response_action: "errors", errors: { count: "It must be 7." } });
    });
    app.command("/sekisho", note("command"));
    const server = (await app.start({ port: 0, host: "127.0.0.1" })) as Server;
    eventsUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/slack/events`;
  });
  afterAll(() => app.stop());
  beforeEach(() => {
    heard.length = 0;
  });

  it("delivers a mention with a file, a reply without one, and a direct message with a file", async () => {
    const files = [{ name: "a.txt", mimetype: "text/plain", bytes: new Uint8Array([97]) }];
    const first = fakeSlack.ask({ eventsUrl, text: "hi", files });
    const second = fakeSlack.reply({ eventsUrl, text: "more", threadTs: first.message.ts });
    const third = fakeSlack.ask({ eventsUrl, text: "hi", files, channel: "DHANAKO" });
    for (const { delivered } of [first, second, third])
      expect(await delivered).toMatchObject({ status: 200 });
    const events = heard.map(
      ({ type, said }) => [type, said.event as Record<string, unknown>] as const,
    );
    expect(new Map(events).get("app_mention")).toMatchObject({
      files: [{ name: "a.txt", mimetype: "text/plain" }],
    });
    const direct = events.find(([, event]) => event.channel === "DHANAKO")?.[1];
    expect(direct).toMatchObject({ subtype: "file_share", user: "UHANAKO", channel_type: "im" });
    expect(events.find(([, event]) => event.text === "more")?.[1]).toMatchObject({
      thread_ts: first.message.ts,
    });
  });

  it("delivers edits, previews and deletions with the message as it was before", async () => {
    const first = fakeSlack.ask({ eventsUrl: fakeSlack.apiUrl, text: "see https://example.com" });
    const reply = fakeSlack.reply({
      eventsUrl: fakeSlack.apiUrl,
      text: "more",
      threadTs: first.message.ts,
    });
    const [ofFirst, ofReply] = [first, reply].map(({ message: { channel, ts } }) => ({
      eventsUrl,
      channel,
      ts,
    }));
    if (ofFirst === undefined || ofReply === undefined) throw new Error("There are two messages.");
    const changes = [
      () => fakeSlack.unfurl(ofFirst),
      () => fakeSlack.edit({ ...ofFirst, text: "a & b" }),
      () => fakeSlack.remove(ofReply),
      () => fakeSlack.remove(ofFirst),
    ];
    for (const change of changes) expect(await change().delivered).toMatchObject({ status: 200 });
    const events = heard.map(({ said }) => said.event as Record<string, Record<string, unknown>>);
    const { ts } = ofFirst;
    expect(events).toMatchObject([
      {
        subtype: "message_changed",
        hidden: true,
        message: { ts, attachments: [{}], reply_count: 1 },
        previous_message: { ts },
      },
      {
        message: {
          text: "<@UBOTSTANDIN> a &amp; b",
          thread_ts: ts,
          edited: { user: "UPERSON" },
          user_team: "TSTANDIN",
        },
      },
      {
        subtype: "message_deleted",
        deleted_ts: ofReply.ts,
        previous_message: { text: "more", thread_ts: ts },
      },
      // Its reply is gone, so nothing of it stays.
      { subtype: "message_deleted", deleted_ts: ts },
    ]);
    expect(events[0]?.message).not.toHaveProperty("edited");
  });

  it("replaces a deleted message that has replies with a tombstone", async () => {
    const first = fakeSlack.ask({ eventsUrl: fakeSlack.apiUrl, text: "hi" });
    const { channel, ts } = first.message;
    fakeSlack.reply({ eventsUrl: fakeSlack.apiUrl, text: "more", threadTs: ts });
    await fakeSlack.remove({ eventsUrl, channel, ts }).delivered;
    expect(heard[0]?.said.event).toMatchObject({
      subtype: "message_changed",
      message: { subtype: "tombstone", user: "USLACKBOT", ts, reply_count: 1 },
      previous_message: { user: "UPERSON", text: "<@UBOTSTANDIN> hi" },
    });
    const slack = new WebClient(botToken, { slackApiUrl: fakeSlack.apiUrl });
    const { messages = [] } = await slack.conversations.replies({ channel, ts });
    expect(messages).toMatchObject([{ subtype: "tombstone" }, { text: "more" }]);
  });

  it("delivers a mention by another app, and by a workflow, which has no user", async () => {
    for (const by of ["app", "workflow"] as const)
      await fakeSlack.askAsBot({ eventsUrl, text: "hi", by }).delivered;
    const [app, workflow] = heard.map(({ said }) => said.event as Record<string, unknown>);
    expect(app).toMatchObject({
      user: "UOTHERBOT",
      bot_id: "BOTHERBOT",
      bot_profile: { app_id: "AOTHERBOT" },
    });
    expect(workflow).toMatchObject({
      subtype: "bot_message",
      bot_id: "BWORKFLOW",
      workflow_id: "WfSTANDIN",
    });
    for (const absent of ["user", "client_msg_id"]) expect(workflow).not.toHaveProperty(absent);
  });

  it("delivers an alert of another app, whose text is in an attachment", async () => {
    const fields = [{ title: "Host", value: "web-3" }];
    const alert = { title: "Disk <full>", text: "*97 %* used", color: "danger" as const, fields };
    const { message, delivered } = fakeSlack.postAlert({ eventsUrl, alert });
    await delivered;
    const shown = {
      bot_id: "BOTHERBOT",
      app_id: "AOTHERBOT",
      bot_profile: { name: "Monitoring" },
      text: "",
    };
    const attachment = { color: "danger", title: "Disk &lt;full&gt;", text: "*97 %* used", fields };
    const expectedResult = { type: "message", ...shown, attachments: [attachment] };
    expect(heard[0]?.said.event).toMatchObject(expectedResult);
    for (const absent of ["subtype", "client_msg_id", "blocks"])
      expect(heard[0]?.said.event).not.toHaveProperty(absent);
    const slack = new WebClient(botToken, { slackApiUrl: fakeSlack.apiUrl });
    const { messages } = await slack.conversations.replies({ channel, ts: message.ts });
    expect(messages).toMatchObject([expectedResult]);
    const direct = { eventsUrl, alert, channel: workspace.directMessages.id };
    expect(() => fakeSlack.postAlert(direct)).toThrow("direct messages");
  });

  it("delivers a forwarded message with a copy of its text, files and attachments", async () => {
    const file = { name: "a.csv", mimetype: "text/csv", bytes: new Uint8Array(3) };
    const original = fakeSlack.ask({ eventsUrl, text: "1 < 2", files: [file] }).message;
    const alert = { title: "DiskFull", text: "web-3", color: "danger" as const };
    const alarm = fakeSlack.postAlert({ eventsUrl, alert }).message;
    const direct = workspace.directMessages.id;
    const forwards = [original, alarm];
    const forwarded = fakeSlack.ask({ eventsUrl, channel: direct, text: "", forwards });
    await forwarded.delivered;
    const copy = {
      is_share: true,
      is_msg_unfurl: true,
      channel_id: channel,
      channel_name: "general",
    };
    const writtenText = {
      ...copy,
      id: 1,
      ts: original.ts,
      author_id: "UPERSON",
      author_name: "You",
    };
    const text = "<@UBOTSTANDIN> 1 &lt; 2";
    const elements = [{ elements: [{ type: "user" }, { type: "text", text: " 1 < 2" }] }];
    const message_blocks = [
      { channel, ts: original.ts, message: { blocks: [{ type: "rich_text", elements }] } },
    ];
    const attachments = [
      {
        ...writtenText,
        text,
        message_blocks,
        files: [{ name: "a.csv" }],
        footer: "Posted in #general",
      },
      {
        ...copy,
        id: 2,
        author_name: "Monitoring",
        text: "",
        attachments: [{ title: "DiskFull", text: "web-3" }],
      },
    ];
    const { event } = heard.at(-1)?.said ?? {};
    expect(event).toMatchObject({ type: "message", channel: direct, text: "", attachments });
    expect(event).not.toHaveProperty("files");
    const slack = new WebClient(botToken, { slackApiUrl: fakeSlack.apiUrl });
    const { messages } = await slack.conversations.replies({
      channel: direct,
      ts: forwarded.message.ts,
    });
    expect(messages).toMatchObject([{ text: "", attachments }]);
    const thread = await slack.conversations.replies({ channel, ts: original.ts });
    expect(thread.messages).toMatchObject([{ blocks: [{ type: "rich_text", elements }] }]);
  });

  it("refuses to forward a message that is deleted or that the person cannot read", async () => {
    const { ts } = fakeSlack.ask({ eventsUrl, text: "hi" }).message;
    const forward = (where: string, user = "UPERSON") =>
      fakeSlack.ask({ eventsUrl, text: "", forwards: [{ channel: where, ts }], user });
    expect(() => forward(channel, "UOUTSIDER")).toThrow("no such message");
    expect(() => forward("CRANDOM")).toThrow("no such message");
    fakeSlack.remove({ eventsUrl, channel, ts });
    expect(() => forward(channel)).toThrow("no such message");
    expect(fakeSlack.messages()).toEqual([]);
  });

  it("delivers a shortcut, opens a modal, and shows the errors of what was filled in", async () => {
    const { message } = fakeSlack.ask({ eventsUrl: fakeSlack.apiUrl, text: "hi" });
    const { ts } = message;
    const chosen = fakeSlack.useShortcut({
      eventsUrl,
      channel,
      ts,
      callbackId: "ask",
      user: "UHANAKO",
    });
    expect(await chosen.delivered).toMatchObject({ status: 200 });
    expect(heard[0]?.said).toMatchObject({
      message: { ts, text: "<@UBOTSTANDIN> hi" },
      channel: { id: channel },
    });
    const [modal] = await untilOpen();
    expect(modal).toMatchObject({ user: "UHANAKO", view: { private_metadata: "kept" } });
    const id = modal?.id ?? "";
    const filledIn = { name: "x", count: "6", day: "2026-03-31", one: "b", several: ["a", "b"] };
    const refusal = await fakeSlack.submitModal({ eventsUrl, id, filledIn });
    expect(refusal).toMatchObject({ status: 200, errors: { count: "It must be 7." } });
    expect(heard[1]?.said).toMatchObject({
      name: { input: { type: "plain_text_input", value: "x" } },
      count: { input: { type: "number_input", value: "6" } },
      day: { input: { type: "datepicker", selected_date: "2026-03-31" } },
      one: { input: { type: "static_select", selected_option: { value: "b" } } },
      several: {
        input: { type: "multi_static_select", selected_options: [{ value: "a" }, { value: "b" }] },
      },
    });
    expect(fakeSlack.modals()).toHaveLength(1);
    await fakeSlack.submitModal({ eventsUrl, id, filledIn: { count: "7" } });
    expect(fakeSlack.modals()).toEqual([]);
  });

  /** Bolt opens it after it has acknowledged. */
  async function untilOpen() {
    while (fakeSlack.modals().length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    return fakeSlack.modals();
  }

  it("delivers a button click and a command once each", async () => {
    const { message } = fakeSlack.ask({ eventsUrl: fakeSlack.apiUrl, text: "hi" });
    const slack = new WebClient(botToken, { slackApiUrl: fakeSlack.apiUrl });
    const text = { type: "plain_text", text: "Stop" } as const;
    const elements = [{ type: "button", text, action_id: "sekisho_cancel", value: "v" } as const];
    const blocks = [{ type: "actions", elements } as const];
    const posted = await slack.chat.postMessage({
      channel,
      thread_ts: message.ts,
      text: "…",
      blocks,
    });
    const place = { eventsUrl, channel, ts: posted.ts ?? "" };
    const once = { status: 200, deliveries: 1, isAmbiguous: false };
    expect(
      await fakeSlack.clickButton({ ...place, label: "Stop", user: "UHANAKO" }).delivered,
    ).toEqual(once);
    expect(await fakeSlack.command({ eventsUrl, text: "a & b" }).delivered).toEqual(once);
    expect(heard.map(({ type }) => type)).toEqual(["action", "command"]);
    expect(heard[0]?.said).toMatchObject({
      user: { id: "UHANAKO" },
      container: { thread_ts: message.ts },
      actions: [{ action_id: "sekisho_cancel", value: "v" }],
    });
    expect(heard[1]?.said).toMatchObject({
      text: "a &amp; b",
      channel_id: channel,
      is_enterprise_install: "false",
    });
    expect(() => fakeSlack.clickButton({ ...place, label: "Start" })).toThrow(/button/);
  });

  it("identifies the installation by the channel of the message, not by its author", async () => {
    await fakeSlack.ask({ eventsUrl, text: "hi", channel: "CSHARED", user: "UOUTSIDER" }).delivered;
    await fakeSlack.ask({ eventsUrl, text: "hi", channel: "CGRID" }).delivered;
    await fakeSlack.command({ eventsUrl, text: "hi", channel: "CGRID" }).delivered;
    expect(heard.map(({ type, team }) => [type, team])).toEqual([
      ["app_mention", workspace.team],
      ["app_mention", organization.id],
      ["command", organization.id],
    ]);
    expect(heard[0]?.said).toMatchObject({
      team_id: "TSECOND",
      is_ext_shared_channel: true,
      event: { team: "TSECOND" },
    });
  });

  it("names one installation for a mention of the other workspace's bot in Slack Connect", async () => {
    const asked = {
      eventsUrl,
      text: "hi",
      channel: "CSHARED",
      user: "UOUTSIDER",
      mention: "UBOTSECOND",
    };
    await fakeSlack.ask(asked).delivered;
    expect(heard[0]?.said).toMatchObject({
      context_team_id: workspace.team,
      authorizations: [{ team_id: workspace.team, user_id: workspace.botUser }],
      event: { type: "app_mention", text: "<@UBOTSECOND> hi" },
    });
  });

  it("repeats an event that the app refuses for its signature, but not a command", async () => {
    const stranger = await startFakeSlack({
      signingSecret: "another",
      botToken,
      retryDelaysMs: [0, 0],
    });
    const refusal = { status: 401, isAmbiguous: false };
    expect(await stranger.ask({ eventsUrl, text: "hi" }).delivered).toEqual({
      ...refusal,
      deliveries: 3,
    });
    expect(await stranger.command({ eventsUrl, text: "hi" }).delivered).toEqual({
      ...refusal,
      deliveries: 1,
    });
    await stranger.close();
    expect(heard).toEqual([]);
  });
});
