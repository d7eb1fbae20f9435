/** Messages and files as the Web API and events show them. */
import { unescapeMrkdwn } from "@sekisho/verification/slack/context/mrkdwn.ts";
import type { FakeSlackFile } from "./files.ts";
import type { FakeSlackMessage } from "./messages.ts";
import type { MethodArgs } from "./reply.ts";
import {
  findFakeChannel,
  findFakePerson,
  findTeamOfChannel,
  isOwnBot,
  otherBot,
  workflow,
  workspace,
} from "./workspace.ts";

type ShownMessage = { message: FakeSlackMessage; withMetadata?: boolean; filesUrl: string };

/** `filesUrl` is the fake Slack's address, and ends with a slash. */
export function toSlackMessage({
  message: {
    channel,
    ts,
    threadTs,
    user,
    isThroughApp,
    text,
    metadata,
    blocks,
    attachments,
    forwards,
    files,
    stream,
    edited,
    unfurls,
    isDeleted,
  },
  withMetadata = true,
  filesUrl,
}: ShownMessage) {
  const team = findFakePerson(user)?.team ?? findFakeChannel(channel)?.team ?? workspace.team;
  const inThread = threadTs === undefined ? {} : { thread_ts: threadTs };
  if (isDeleted)
    return {
      type: "message",
      subtype: "tombstone",
      user: "USLACKBOT",
      text,
      hidden: true,
      ts,
      ...inThread,
    };
  return {
    type: "message",
    ...writerFields({ user, isThroughApp, team }),
    text,
    ...attachmentFields({ message: { text, attachments, forwards, unfurls }, filesUrl }),
    ts,
    team,
    ...inThread,
    ...blockFields({ user, text, blocks }),
    ...(files === undefined
      ? {}
      : { files: files.map((file) => toListedFile({ file, filesUrl })), upload: true }),
    ...(stream === undefined
      ? {}
      : { streaming_state: stream.state === "open" ? "in_progress" : "completed" }),
    ...(edited ? { edited: { user, ts } } : {}),
    ...(withMetadata && metadata !== undefined ? { metadata } : {}),
  };
}

/** Slack's clients write a person's text as rich text too. */
function blockFields({ user, text, blocks }: Pick<FakeSlackMessage, "user" | "text" | "blocks">): {
  blocks?: readonly object[];
} {
  if (blocks !== undefined) return { blocks };
  return findFakePerson(user) === undefined || text === "" ? {} : { blocks: [toRichText(text)] };
}

/** As messages show it: of some files only the id. */
export function toListedFile({ file, filesUrl }: { file: FakeSlackFile; filesUrl: string }) {
  if (file.access === undefined) return toSlackFile({ file, filesUrl });
  return {
    id: file.id,
    mode: "file_access",
    file_access: "check_file_info",
    created: 0,
    timestamp: 0,
    user: "",
  };
}

export function toSlackFile({ file, filesUrl }: { file: FakeSlackFile; filesUrl: string }) {
  const { id, name, title, mimetype, size, team, user } = file;
  const base = `${filesUrl}files-pri/${team}-${id}/`;
  return {
    id,
    name,
    title,
    mimetype,
    filetype: name.split(".").at(-1) ?? "",
    size,
    user,
    user_team: team,
    mode: "hosted",
    is_external: false,
    file_access: "visible",
    url_private: `${base}${encodeURIComponent(name)}`,
    url_private_download: `${base}download/${encodeURIComponent(name)}`,
  };
}

/** Returns the fields that say who wrote a message, in the message and in its events. Slack marks all that an app posts, also with a person's own token. */
export function writerFields({
  user,
  isThroughApp,
  team,
}: {
  user: string;
  isThroughApp?: true | undefined;
  team: string;
}) {
  if (user === workflow.bot) {
    const { name: username, bot: bot_id, app: app_id, id: workflow_id } = workflow;
    return { subtype: "bot_message", username, bot_id, app_id, workflow_id };
  }
  const { bot: id, app } = workspace;
  const bot =
    isThroughApp || user === otherBot.user
      ? otherBot
      : isOwnBot(user)
        ? { bot: id, app, name: user }
        : undefined;
  if (bot === undefined) return { user };
  const profile = { id: bot.bot, app_id: bot.app, name: bot.name, team_id: team, deleted: false };
  return { user, bot_id: bot.bot, app_id: bot.app, bot_profile: profile };
}

export function toPermalink({
  channel,
  ts,
  threadTs,
}: Pick<FakeSlackMessage, "channel" | "ts" | "threadTs">): string {
  const { domain } = findTeamOfChannel(channel);
  const inThread =
    threadTs === undefined || threadTs === ts ? "" : `?thread_ts=${threadTs}&cid=${channel}`;
  return `https://${domain}.slack.com/archives/${channel}/p${ts.replace(".", "")}${inThread}`;
}

/** Slack adds previews of links unless a call refuses them. `unfurls`: this call let it. */
export function readUnfurling({ unfurl_links: links, unfurl_media: media }: MethodArgs): {
  unfurls?: true;
} {
  return links === "false" && media === "false" ? {} : { unfurls: true };
}

/** Slack's previews: one attachment per link. */
function previews({ text, unfurls }: { text: string; unfurls?: true | undefined }) {
  const addresses = unfurls === undefined ? [] : (text.match(/https?:\/\/[^\s|<>()]+/g) ?? []);
  return addresses.map((address) => ({ from_url: address }));
}

type Attached = {
  message: Pick<FakeSlackMessage, "text" | "attachments" | "forwards" | "unfurls">;
  filesUrl: string;
};

/** Slack leaves the field out if there are none. */
export function attachmentFields({ message, filesUrl }: Attached): {
  attachments?: readonly object[];
} {
  const { attachments: own = [], forwards = [] } = message;
  const copies = forwards.map((original, index) => ({
    ...toForward({ message: original, filesUrl }),
    id: index + 1,
  }));
  const attachments = [...own, ...copies, ...previews(message)];
  return attachments.length === 0 ? {} : { attachments };
}

/**
 * The copy of a message that somebody forwards, as Slack's clients make it. Undocumented: that `is_share` marks it, and where the
 * attachments of the original are.
 */
function toForward({ message, filesUrl }: ShownMessage): object {
  const { channel, ts, user, text, files } = message;
  const {
    name: channelName,
    direct,
    team,
  } = findFakeChannel(channel) ?? { ...workspace.channel, name: channel };
  const writer = writerFields({ user, team });
  const bot = "username" in writer ? writer.username : writer.bot_profile?.name;
  const name = findFakePerson(user)?.name ?? bot ?? user;
  const copiedBlocks = blockFields(message);
  return {
    is_msg_unfurl: true,
    is_share: true,
    ts,
    ...("user" in writer && { author_id: user }),
    author_name: name,
    author_subname: name,
    channel_id: channel,
    channel_name: direct ? "Direct Message" : channelName,
    channel_team: team,
    from_url: toPermalink(message),
    text,
    fallback: text === "" ? "[no preview available]" : `${name}: ${text}`,
    footer: direct ? "Direct Message" : `Posted in #${channelName}`,
    mrkdwn_in: ["text"],
    ...(copiedBlocks.blocks !== undefined && {
      message_blocks: [{ team, channel, ts, message: copiedBlocks }],
    }),
    ...(files !== undefined && { files: files.map((file) => toListedFile({ file, filesUrl })) }),
    ...attachmentFields({ message, filesUrl }),
  };
}

/** The rich text of a text in mrkdwn: mentions are elements of their own, and the rest is not escaped. */
export function toRichText(text: string): object {
  const pieces = text.split(/<@([A-Z0-9]+)(?:\|[^<>]*)?>/);
  const elements = pieces.flatMap((piece, index): object[] => {
    if (index % 2 === 1) return [{ type: "user", user_id: piece }];
    return piece === "" ? [] : [{ type: "text", text: unescapeMrkdwn(piece) }];
  });
  return { type: "rich_text", block_id: "b1", elements: [{ type: "rich_text_section", elements }] };
}
