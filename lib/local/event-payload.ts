/** Payloads of the Events API as Slack posts them (https://docs.slack.dev/apis/events-api), for the fake Slack's workspaces. */
import type { FakeSlackFile } from "./fake-slack/files.ts";
import { toSlackFile } from "./fake-slack/slack-message.ts";
import { findFakeChannel, findFakePerson, findFakeTeam, workspace } from "./fake-slack/workspace.ts";

/** A post as the event is to tell of it. */
export type PostedByPerson = {
  channel: string;
  ts: string;
  threadTs?: string | undefined;
  user: string;
  text: string;
  files?: readonly FakeSlackFile[] | undefined;
};

/**
 * `app_mention` and `message` for the same post differ in `event_id` and little else. `eventId` is Slack's, different for
 * each event; redeliveries keep it. `filesUrl` is where files are served from.
 */
export function createEventPayload({
  event,
  message: { channel, ts, threadTs, user, text, files },
  eventId = `Ev${event === "message" ? "M" : "A"}${ts.replace(".", "")}`,
  filesUrl = "http://127.0.0.1/",
}: {
  event: "app_mention" | "message";
  message: PostedByPerson;
  eventId?: string;
  filesUrl?: string;
}) {
  const authorTeam = findFakePerson(user)?.team ?? workspace.team;
  const withFiles = files === undefined ? [] : files.map((file) => toSlackFile({ file, filesUrl }));
  return {
    ...envelope({ channel, authorTeam, eventId, ts }),
    event: {
      user,
      type: event,
      ...(event === "message" && withFiles.length > 0 ? { subtype: "file_share" } : {}),
      ts,
      client_msg_id: `fake-slack-${ts}`,
      text,
      team: authorTeam,
      ...(authorTeam === homeOf(channel) ? {} : { user_team: authorTeam, source_team: authorTeam }),
      blocks: [
        {
          type: "rich_text",
          block_id: "b1",
          elements: [{ type: "rich_text_section", elements: [{ type: "text", text }] }],
        },
      ],
      ...(withFiles.length === 0 ? {} : { files: withFiles, upload: false, display_as_bot: false }),
      ...(threadTs === undefined ? {} : { thread_ts: threadTs }),
      channel,
      event_ts: ts,
      ...(event === "message" ? { channel_type: channel.startsWith("D") ? "im" : "channel" } : {}),
    },
  };
}

/** Somebody opened a conversation with the assistant (https://docs.slack.dev/reference/events/assistant_thread_started). */
export function createAssistantPayload({
  channel,
  threadTs,
  user,
}: {
  channel: string;
  threadTs: string;
  user: string;
}) {
  const authorTeam = homeOf(channel);
  const context = { channel_id: workspace.channel.id, team_id: authorTeam, enterprise_id: enterpriseOf(authorTeam) };
  return {
    ...envelope({ channel, authorTeam, eventId: `EvT${threadTs.replace(".", "")}`, ts: threadTs }),
    event: {
      type: "assistant_thread_started",
      assistant_thread: { user_id: user, context, channel_id: channel, thread_ts: threadTs },
      event_ts: threadTs,
    },
  };
}

/**
 * `team_id` is the author's workspace, which in a channel of Slack Connect is another than `context_team_id`, where the app
 * is installed. Where it is installed in a whole organization, the authorization names that.
 */
function envelope({
  channel,
  authorTeam,
  eventId,
  ts,
}: {
  channel: string;
  authorTeam: string;
  eventId: string;
  ts: string;
}) {
  const home = homeOf(channel);
  const enterprise = enterpriseOf(home);
  return {
    token: "retired-verification-token",
    team_id: authorTeam,
    ...(enterprise === null ? {} : { enterprise_id: enterprise }),
    context_team_id: home,
    context_enterprise_id: enterprise,
    api_app_id: workspace.app,
    type: "event_callback" as const,
    event_id: eventId,
    event_time: Number(ts.split(".")[0]),
    authorizations: [
      {
        enterprise_id: enterprise,
        team_id: enterprise === null ? home : null,
        user_id: findFakeTeam(home)?.user ?? workspace.botUser,
        is_bot: true,
        is_enterprise_install: enterprise !== null,
      },
    ],
    is_ext_shared_channel: findFakeChannel(channel)?.sharedWith !== undefined,
    event_context: `4-${eventId}`,
  };
}

/** The workspace in which the app meets the channel. */
function homeOf(channel: string): string {
  return findFakeChannel(channel)?.team ?? workspace.team;
}

function enterpriseOf(team: string): string | null {
  return findFakeTeam(team)?.enterprise ?? null;
}
