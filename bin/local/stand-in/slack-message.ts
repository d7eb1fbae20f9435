/** A message of the stand-in as the Web API and events tell of it. */
import type { StandInFile } from "./files.ts";
import type { StandInMessage } from "./messages.ts";
import { channelOf, isOwnBot, otherBot, personOf, workspace } from "./workspace.ts";

/** `filesUrl` is where the stand-in serves files from, ending with a slash. */
export function toSlack({
  message: { channel, ts, threadTs, user, text, metadata, blocks, files, stream, edited },
  withMetadata = true,
  filesUrl,
}: {
  message: StandInMessage;
  withMetadata?: boolean;
  filesUrl: string;
}) {
  const team = personOf(user)?.team ?? channelOf(channel)?.team ?? workspace.team;
  return {
    type: "message",
    user,
    ...botFields(user, team),
    text,
    ts,
    team,
    ...(threadTs === undefined ? {} : { thread_ts: threadTs }),
    ...(blocks === undefined ? {} : { blocks }),
    ...(files === undefined ? {} : { files: files.map((file) => fileToSlack({ file, filesUrl })), upload: true }),
    ...(stream === undefined ? {} : { streaming_state: stream.state === "open" ? "in_progress" : "completed" }),
    ...(edited ? { edited: { user, ts } } : {}),
    ...(withMetadata && metadata !== undefined ? { metadata } : {}),
  };
}

export function fileToSlack({ file, filesUrl }: { file: StandInFile; filesUrl: string }) {
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

function botFields(user: string, team: string) {
  const bot =
    user === otherBot.user ? otherBot : isOwnBot(user) ? { bot: workspace.bot, app: workspace.app } : undefined;
  if (bot === undefined) return {};
  const profile = { id: bot.bot, app_id: bot.app, name: user, team_id: team, deleted: false };
  return { bot_id: bot.bot, app_id: bot.app, bot_profile: profile };
}
