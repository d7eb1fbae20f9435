/** Everything that the fake Slack refuses as Slack does: one row for each refusal. */
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { parseConfig } from "@sekisho/config/load.ts";
import { argumentNames, argumentTypes } from "@sekisho/local/fake-slack/methods/argument-names.ts";
import { methodRows, type SlackMethod } from "@sekisho/local/fake-slack/methods/table.ts";
import { workspace } from "@sekisho/local/fake-slack/workspace.ts";
import { slackManifest } from "@sekisho/verification/slack/api/manifest.ts";
import { nothingDiffers } from "./sdk-arguments.ts";
import { type CalledSlack, channel, startCalledSlack } from "./web-api.ts";

let slack: CalledSlack;
beforeEach(() => start());
afterEach(() => slack.fakeSlack.close());

async function start(options: Parameters<typeof startCalledSlack>[0] = {}): Promise<void> {
  await slack?.fakeSlack.close();
  slack = await startCalledSlack({ install: { clientId: "1.2", clientSecret: "shh" }, ...options });
}

type Args = Record<string, unknown>;

const user = workspace.person;
const vote = { text: { type: "plain_text", text: "Good" }, value: "1" };
const votes = {
  type: "feedback_buttons",
  action_id: "a",
  positive_button: vote,
  negative_button: vote,
};
const home = {
  type: "home",
  blocks: [{ type: "section", text: { type: "mrkdwn", text: "Hi", verbatim: true } }],
};
const button = { type: "button", text: { type: "plain_text", text: "Cancel" }, action_id: "a" };
const actions = (...elements: object[]) => [{ type: "actions", elements }];
const section = (text: string) => [
  { type: "section", text: { type: "mrkdwn", text, verbatim: true } },
];
const manifest = slackManifest({
  name: "Sekisho",
  config: parseConfig({
    json: { slack: { assistant: {}, command: { name: "/sekisho" }, shortcut: {} } },
  }),
  eventsUrl: "https://example.com/slack/events",
});

/** Arguments with which each method succeeds. */
async function validArgs(method: SlackMethod): Promise<Args> {
  const { asked } = slack;
  const inThread = { channel_id: channel, thread_ts: asked };
  const recipient = { recipient_user_id: user, recipient_team_id: workspace.team };
  const upload = (mimetype: string) =>
    slack.fakeSlack.upload({ name: "a", mimetype, bytes: Buffer.from("x") }).id;
  const post = async () => ({ channel, ts: (await slack.post()).ts });
  const stream = async () => {
    const args = { channel, thread_ts: asked, markdown_text: "one", ...recipient };
    return { channel, ts: (await slack.call("chat.startStream", args)).ts };
  };
  const args: Record<SlackMethod, () => Args | Promise<Args>> = {
    "agents.sessions.rename": async () => {
      await slack.call("agents.sessions.setStatus", { ...inThread, status: "active" });
      return { ...inThread, title: "A title" };
    },
    "agents.sessions.setStatus": () => ({ ...inThread, status: "processing" }),
    "apps.manifest.validate": () => ({ manifest }),
    "assistant.threads.setStatus": () => ({ ...inThread, status: "is thinking" }),
    "assistant.threads.setSuggestedPrompts": () => ({
      ...inThread,
      prompts: [{ title: "a", message: "b" }],
    }),
    "auth.test": () => ({}),
    "blocks.validate": () => ({ blocks: section("x") }),
    "chat.postMessage": () => ({ channel, text: "hi" }),
    "chat.update": async () => ({ ...(await post()), text: "ho" }),
    "chat.delete": post,
    "chat.postEphemeral": () => ({ channel, user, text: "psst" }),
    "chat.getPermalink": () => ({ channel, message_ts: asked }),
    "chat.startStream": () => ({ channel, thread_ts: asked, markdown_text: "one", ...recipient }),
    "chat.appendStream": async () => ({ ...(await stream()), markdown_text: "two" }),
    "chat.stopStream": stream,
    "conversations.history": () => ({ channel }),
    "conversations.info": () => ({ channel }),
    "conversations.members": () => ({ channel }),
    "conversations.replies": () => ({ channel, ts: asked }),
    "conversations.open": () => ({ users: user }),
    "canvases.getContent": () => ({ canvas_id: upload("application/vnd.slack-docs") }),
    "files.info": () => ({ file: upload("text/plain") }),
    "files.getUploadURLExternal": () => ({ filename: "a.txt", length: 1 }),
    "files.completeUploadExternal": async () => {
      const { file_id: id, upload_url: url } = await slack.call("files.getUploadURLExternal", {
        filename: "a.txt",
        length: 1,
      });
      await fetch(String(url), { method: "POST", body: "x" });
      return { files: [{ id }], ...inThread };
    },
    "oauth.v2.access": () => ({
      client_id: "1.2",
      client_secret: "shh",
      code: slack.fakeSlack.authorize({ team: workspace.team }).code,
    }),
    "reactions.add": () => ({ channel, timestamp: asked, name: "eyes" }),
    "reactions.remove": async () => {
      const reaction = { channel, timestamp: asked, name: "eyes" };
      await slack.call("reactions.add", reaction);
      return reaction;
    },
    "usergroups.list": () => ({}),
    "usergroups.users.list": () => ({ usergroup: "SDEPLOYERS" }),
    "users.info": () => ({ user }),
    "views.open": () => ({
      trigger_id: slack.fakeSlack.command({ eventsUrl: slack.fakeSlack.apiUrl, text: "hi" })
        .triggerId,
      view: { type: "modal", title: { type: "plain_text", text: "A modal" }, blocks: section("x") },
    }),
    "views.publish": () => ({ user_id: user, view: home }),
  };
  return args[method]();
}

const allMethods = [...methodRows.keys()] as SlackMethod[];

describe("the arguments of every method", () => {
  it("takes the same arguments of every method as Slack's own client, with the same types", () => {
    expect(nothingDiffers).toEqual({ names: {}, types: {}, manifest: {} });
  });

  it.each(allMethods)("accepts %s with the required arguments", async (method) => {
    expect(await slack.call(method, await validArgs(method))).toMatchObject({ ok: true });
  });

  it.each(allMethods)("refuses an unknown argument of %s", async (method) => {
    const args = { ...(await validArgs(method)), chanel: channel };
    expect(await slack.call(method, args)).toMatchObject({ ok: false, error: "invalid_arg_name" });
  });

  const missing: [SlackMethod, string][] = [
    ["agents.sessions.rename", "channel_id thread_ts title"],
    ["agents.sessions.setStatus", "channel_id thread_ts status"],
    ["apps.manifest.validate", "manifest"],
    ["assistant.threads.setStatus", "channel_id thread_ts status"],
    ["assistant.threads.setSuggestedPrompts", "channel_id prompts"],
    ["blocks.validate", "blocks"],
    ["chat.postMessage", "channel text"],
    ["chat.update", "channel ts text"],
    ["chat.delete", "channel ts"],
    ["chat.postEphemeral", "channel user text"],
    ["chat.getPermalink", "channel message_ts"],
    ["chat.startStream", "channel thread_ts recipient_user_id recipient_team_id"],
    ["chat.appendStream", "channel ts markdown_text"],
    ["chat.stopStream", "channel ts"],
    ["conversations.history", "channel"],
    ["conversations.info", "channel"],
    ["conversations.members", "channel"],
    ["conversations.replies", "channel ts"],
    ["conversations.open", "users"],
    ["files.getUploadURLExternal", "filename length"],
    ["files.completeUploadExternal", "files"],
    ["oauth.v2.access", "client_id client_secret code"],
    ["reactions.add", "channel timestamp name"],
    ["reactions.remove", "channel timestamp name"],
    ["usergroups.users.list", "usergroup"],
    ["users.info", "user"],
    ["views.open", "trigger_id view"],
    ["views.publish", "user_id view"],
  ].flatMap(([method = "", names = ""]) =>
    names.split(" ").map((name): [SlackMethod, string] => [method as SlackMethod, name]),
  );

  it.each(missing)("refuses %s without %s", async (method, name) => {
    const { [name]: _left, ...args } = await validArgs(method);
    expect(await slack.call(method, args)).toMatchObject({ ok: false });
  });

  const wrong = { flag: "maybe", count: "many", json: "not JSON" } as const;
  const mistyped = allMethods.flatMap((method) =>
    (Object.keys(wrong) as (keyof typeof wrong)[]).flatMap((type) =>
      argumentNames[method]
        .split(" ")
        .filter((name) => argumentTypes[type].split(" ").includes(name))
        .map((name): [SlackMethod, string, string] => [method, name, wrong[type]]),
    ),
  );

  it.each(mistyped)("refuses in a call of %s the argument %s: %s", async (method, name, value) => {
    const { error } = await slack.call(method, { ...(await validArgs(method)), [name]: value });
    expect(error).toMatch(/^invalid_(arguments|blocks_format|chunks|limit|metadata_format)$/);
  });
});

describe("a missing scope", () => {
  const scoped = allMethods.filter((method) => methodRows.get(method)?.scopes !== undefined);

  it.each(scoped)(
    "refuses %s without its scope, and names the needed and the provided scopes",
    async (method) => {
      await start({ scopes: ["commands"] });
      const needed = methodRows.get(method)?.scopes?.replaceAll(" ", ",");
      const answer = await slack.call(method, {});
      expect(answer).toEqual({ ok: false, error: "missing_scope", needed, provided: "commands" });
    },
  );
});

const posts = "chat.postMessage";
const refusals: [string, SlackMethod, Args, string][] = [
  ["an unknown channel", posts, { channel: "CNOWHERE" }, "channel_not_found"],
  ["an unknown thread", posts, { thread_ts: "1.000001" }, "invalid_thread_ts"],
  ["no text", posts, { text: "" }, "no_text"],
  ["only invisible text", posts, { text: "\u200b" }, "no_text"],
  [
    "an edit of more than 4,000 characters",
    "chat.update",
    { text: "x".repeat(4001) },
    "msg_too_long",
  ],
  [
    "a section of more than 3,000 characters",
    posts,
    { blocks: section("x".repeat(3001)) },
    "invalid_blocks",
  ],
  ["a section without text", posts, { blocks: section("") }, "invalid_blocks"],
  ["more than 50 blocks", posts, { blocks: Array(51).fill({ type: "divider" }) }, "invalid_blocks"],
  ["an unknown kind of block", posts, { blocks: [{ type: "sektion" }] }, "invalid_blocks"],
  [
    "an unknown field of a block",
    posts,
    { blocks: [{ type: "divider", colour: "red" }] },
    "invalid_blocks",
  ],
  [
    "a button with a label of more than 75 characters",
    posts,
    { blocks: actions({ ...button, text: { ...button.text, text: "x".repeat(76) } }) },
    "invalid_blocks",
  ],
  [
    "a button with a value of more than 2,000 characters",
    posts,
    { blocks: actions({ ...button, value: "x".repeat(2001) }) },
    "invalid_blocks",
  ],
  [
    "an unknown style",
    posts,
    { blocks: actions({ ...button, style: "warning" }) },
    "invalid_blocks",
  ],
  ["two buttons of one action", posts, { blocks: actions(button, button) }, "invalid_blocks"],
  ["no buttons", posts, { blocks: actions() }, "invalid_blocks"],
  ["blocks that are not a list", posts, { blocks: "{}" }, "invalid_blocks"],
  [
    "mrkdwn whose plain text Slack would parse",
    posts,
    { blocks: [{ type: "section", text: { type: "mrkdwn", text: "x" } }] },
    "invalid_blocks",
  ],
  ["an empty Markdown", posts, { blocks: [{ type: "markdown", text: "" }] }, "invalid_blocks"],
  [
    "more than 12,000 characters of Markdown in two blocks",
    posts,
    { blocks: Array(2).fill({ type: "markdown", text: "x".repeat(6001) }) },
    "invalid_blocks",
  ],
  [
    "more than 12,000 characters of Markdown",
    posts,
    { blocks: [{ type: "markdown", text: "x".repeat(12_001) }] },
    "invalid_blocks",
  ],
  [
    "blocks that are too long together",
    posts,
    { blocks: Array.from({ length: 5 }, () => section("x".repeat(2800))).flat() },
    "msg_blocks_too_long",
  ],
  [
    "metadata without a payload",
    posts,
    { metadata: { event_type: "a" } },
    "invalid_metadata_format",
  ],
  ["an edit of an unknown message", "chat.update", { ts: "1.000001" }, "message_not_found"],
  ["a deletion of an unknown message", "chat.delete", { ts: "1.000001" }, "message_not_found"],
  [
    "a person outside the channel",
    "chat.postEphemeral",
    { user: "UOUTSIDER" },
    "user_not_in_channel",
  ],
  [
    "a piece of more than 12,000 characters",
    "chat.appendStream",
    { markdown_text: "x".repeat(12_001) },
    "msg_too_long",
  ],
  ["an empty piece", "chat.appendStream", { markdown_text: "" }, "no_text"],
  [
    "too much at once at the start of a stream",
    "chat.startStream",
    { markdown_text: "x".repeat(12_001) },
    "msg_too_long",
  ],
  [
    "a stream in an unknown thread",
    "chat.startStream",
    { thread_ts: "1.000001" },
    "invalid_thread_ts",
  ],
  [
    "a stream in a channel of another workspace",
    "chat.startStream",
    { channel: "CSECOND" },
    "channel_not_found",
  ],
  ["both text and chunks", "chat.appendStream", { chunks: [] }, "invalid_chunks"],
  [
    "a chunk without a type",
    "chat.startStream",
    { markdown_text: "", chunks: [{}] },
    "invalid_chunks",
  ],
  ["an unknown recipient", "chat.startStream", { recipient_user_id: "UNOBODY" }, "user_not_found"],
  ["an unknown team", "chat.startStream", { recipient_team_id: "TNOWHERE" }, "team_not_found"],
  [
    "a missing recipient",
    "chat.startStream",
    { recipient_user_id: "" },
    "missing_recipient_user_id",
  ],
  [
    "no recipient's team",
    "chat.startStream",
    { recipient_team_id: "" },
    "missing_recipient_team_id",
  ],
  [
    "a link to an unknown message",
    "chat.getPermalink",
    { message_ts: "1.000001" },
    "message_not_found",
  ],
  [
    "a link into a channel without the bot",
    "chat.getPermalink",
    { channel: "CWITHOUT" },
    "not_in_channel",
  ],
  ["a page of more than 1,000", "conversations.history", { limit: 1001 }, "invalid_limit"],
  ["a page of zero messages", "conversations.replies", { limit: 0 }, "invalid_limit"],
  ["an invalid start time", "conversations.history", { oldest: "yesterday" }, "invalid_ts_oldest"],
  ["an invalid end time", "conversations.replies", { latest: "soon" }, "invalid_ts_latest"],
  ["a made-up cursor", "conversations.history", { cursor: "bm93aGVyZQ==" }, "invalid_cursor"],
  ["an unknown thread", "conversations.replies", { ts: "1.000001" }, "thread_not_found"],
  [
    "a conversation with an unknown person",
    "conversations.open",
    { users: "UNOBODY" },
    "user_not_found",
  ],
  ["a file without length", "files.getUploadURLExternal", { length: 0 }, "missing_argument"],
  [
    "a file that was not announced",
    "files.completeUploadExternal",
    { files: [{ id: "F0" }] },
    "file_not_found",
  ],
  ["no files", "files.completeUploadExternal", { files: [] }, "invalid_arguments"],
  ["an emoji with colons", "reactions.add", { name: ":eyes:" }, "invalid_name"],
  [
    "a reaction to an unknown message",
    "reactions.add",
    { timestamp: "1.000001" },
    "message_not_found",
  ],
  ["a missing reaction", "reactions.remove", { name: "wave" }, "no_reaction"],
  ["an unknown group", "usergroups.users.list", { usergroup: "SNOWHERE" }, "no_such_subteam"],
  [
    "the members of an unknown channel",
    "conversations.members",
    { channel: "CNOWHERE" },
    "channel_not_found",
  ],
  ["an unknown person", "users.info", { user: "UNOBODY" }, "user_not_found"],
  ["an unknown status", "agents.sessions.setStatus", { status: "busy" }, "invalid_arguments"],
  [
    "a title of more than 200 characters",
    "agents.sessions.rename",
    { title: "x".repeat(201) },
    "invalid_arguments",
  ],
  [
    "more than four prompts",
    "assistant.threads.setSuggestedPrompts",
    { prompts: Array(5).fill({ title: "a", message: "b" }) },
    "invalid_arguments",
  ],
  ["another app", "oauth.v2.access", { client_id: "3.4" }, "invalid_client_id"],
  ["another secret", "oauth.v2.access", { client_secret: "guess" }, "bad_client_secret"],
  ["an unknown code", "oauth.v2.access", { code: "guess" }, "invalid_code"],
  [
    "a home of a person in another workspace",
    "views.publish",
    { user_id: "UGRID" },
    "user_not_found",
  ],
  [
    "a home of more than 100 blocks",
    "views.publish",
    { view: { type: "home", blocks: Array(101).fill({ type: "divider" }) } },
    "invalid_arguments",
  ],
  [
    "a home with Markdown",
    "views.publish",
    { view: { type: "home", blocks: [{ type: "markdown", text: "x" }] } },
    "invalid_arguments",
  ],
  [
    "a home with votes",
    "views.publish",
    { view: { type: "home", blocks: [{ type: "context_actions", elements: [votes] }] } },
    "invalid_arguments",
  ],
  [
    "a home with two blocks of one id",
    "views.publish",
    { view: { type: "home", blocks: Array(2).fill({ type: "divider", block_id: "a" }) } },
    "invalid_arguments",
  ],
  [
    "a home that is a modal",
    "views.publish",
    { view: { ...home, type: "modal" } },
    "invalid_arguments",
  ],
  [
    "a home of more than 250 KB",
    "views.publish",
    { view: { ...home, private_metadata: "x".repeat(250_001) } },
    "view_too_large",
  ],
  ["blocks that break a limit", "blocks.validate", { blocks: section("") }, "invalid_blocks"],
  [
    "a view that breaks a limit",
    "blocks.validate",
    { blocks: undefined, view: { type: "home" } },
    "invalid_view",
  ],
  [
    "a message that breaks a limit",
    "blocks.validate",
    { blocks: undefined, message: { blocks: section("") } },
    "invalid_message",
  ],
  ["two things at once", "blocks.validate", { view: home }, "invalid_arguments"],
  [
    "an unknown feature of a manifest",
    "apps.manifest.validate",
    { manifest: { ...manifest, features: { home: {} } } },
    "invalid_manifest",
  ],
  [
    "an unknown scope of a manifest",
    "apps.manifest.validate",
    { manifest: { ...manifest, oauth_config: { scopes: { bot: ["chat:read"] } } } },
    "invalid_manifest",
  ],
  [
    "an unknown event of a manifest",
    "apps.manifest.validate",
    {
      manifest: {
        ...manifest,
        settings: { event_subscriptions: { bot_events: ["app_home_closed"] } },
      },
    },
    "invalid_manifest",
  ],
  [
    "a manifest with events and no address",
    "apps.manifest.validate",
    {
      manifest: { ...manifest, settings: { event_subscriptions: { bot_events: ["app_mention"] } } },
    },
    "invalid_manifest",
  ],
  [
    "a manifest with a name of more than 35 characters",
    "apps.manifest.validate",
    { manifest: { ...manifest, display_information: { name: "x".repeat(36) } } },
    "invalid_manifest",
  ],
];

describe("a call with wrong arguments", () => {
  it.each(refusals)("refuses %s (%s)", async (_what, method, change, error) => {
    const values = { ...(await validArgs(method)), ...change };
    const args = Object.fromEntries(
      Object.entries(values).filter(([, value]) => value !== undefined),
    );
    expect(await slack.call(method, args)).toMatchObject({ ok: false, error });
  });

  it("refuses to publish a home when the Home tab is off", async () => {
    await start({ hasHomeTab: false });
    const args = await validArgs("views.publish");
    expect((await slack.call("views.publish", args)).error).toBe("not_enabled");
  });

  it("names where blocks break a limit", async () => {
    const { errors } = await slack.call("blocks.validate", { blocks: section("x".repeat(3001)) });
    expect(errors).toMatchObject([{ pointer: "/blocks/0/text/text", code: "failed_constraint" }]);
  });
});

describe("the app's own manifests", () => {
  it.each<[string, object, boolean]>([
    ["with the defaults", {}, false],
    ["over Socket Mode", {}, true],
    ["for an agent", { slack: { assistant: { prompts: [{ title: "a", message: "b" }] } } }, false],
    [
      "with every feature",
      {
        slack: {
          command: { name: "/sekisho" },
          assistant: {},
          install: { clientId: "1.2", clientSecret: { env: "SECRET" } },
          admins: [{ team: "T1", group: "S1" }],
        },
      },
      false,
    ],
  ])("accepts the app's own manifest %s", async (_what, json, socket) => {
    const config = parseConfig({ json });
    const own = slackManifest({
      name: "Sekisho",
      config,
      eventsUrl: "https://example.com/slack/events",
      socket,
    });
    expect(await slack.call("apps.manifest.validate", { manifest: own })).toEqual({ ok: true });
  });
});
