/** Messages and files as the Web API and events show them. */
import type { FakeSlackFile } from "./files.ts";
import type { FakeSlackMessage } from "./messages.ts";
import type { MethodArgs } from "./reply.ts";
import { findFakeChannel, findFakePerson, isOwnBot, otherBot, workflow, workspace } from "./workspace.ts";

type ShownMessage = { message: FakeSlackMessage; withMetadata?: boolean; filesUrl: string };

/** `filesUrl` is the fake Slack's address, and ends with a slash. */
export function toSlackMessage({
  message: { channel, ts, threadTs, user, text, metadata, blocks, files, stream, edited, unfurls, isDeleted },
  withMetadata = true,
  filesUrl,
}: ShownMessage) {
  const team = findFakePerson(user)?.team ?? findFakeChannel(channel)?.team ?? workspace.team;
  const inThread = threadTs === undefined ? {} : { thread_ts: threadTs };
  if (isDeleted)
    return { type: "message", subtype: "tombstone", user: "USLACKBOT", text, hidden: true, ts, ...inThread };
  return {
    type: "message",
    ...writerFields(user, team),
    text,
    ...previews({ text, unfurls }),
    ts,
    team,
    ...inThread,
    ...(blocks === undefined ? {} : { blocks }),
    ...(files === undefined ? {} : { files: files.map((file) => toListedFile({ file, filesUrl })), upload: true }),
    ...(stream === undefined ? {} : { streaming_state: stream.state === "open" ? "in_progress" : "completed" }),
    ...(edited ? { edited: { user, ts } } : {}),
    ...(withMetadata && metadata !== undefined ? { metadata } : {}),
  };
}

/** As messages show it: of some files only the id. */
export function toListedFile({ file, filesUrl }: { file: FakeSlackFile; filesUrl: string }) {
  if (file.access === undefined) return toSlackFile({ file, filesUrl });
  return { id: file.id, mode: "file_access", file_access: "check_file_info", created: 0, timestamp: 0, user: "" };
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

/** Who wrote a message, as the message and its events have it. */
export function writerFields(user: string, team: string) {
  if (user === workflow.bot) {
    const { name: username, bot: bot_id, app: app_id, id: workflow_id } = workflow;
    return { subtype: "bot_message", username, bot_id, app_id, workflow_id };
  }
  const bot =
    user === otherBot.user ? otherBot : isOwnBot(user) ? { bot: workspace.bot, app: workspace.app } : undefined;
  if (bot === undefined) return { user };
  const profile = { id: bot.bot, app_id: bot.app, name: user, team_id: team, deleted: false };
  return { user, bot_id: bot.bot, app_id: bot.app, bot_profile: profile };
}

/** Slack adds previews of links unless a call refuses them. `unfurls`: this call let it. */
export function readUnfurling({ unfurl_links: links, unfurl_media: media }: MethodArgs): { unfurls?: true } {
  return links === "false" && media === "false" ? {} : { unfurls: true };
}

/** Slack's previews: one attachment per link. */
function previews({ text, unfurls }: { text: string; unfurls?: true | undefined }): { attachments?: unknown[] } {
  const addresses = unfurls === undefined ? [] : (text.match(/https?:\/\/[^\s|<>()]+/g) ?? []);
  return addresses.length === 0 ? {} : { attachments: addresses.map((address) => ({ from_url: address })) };
}
