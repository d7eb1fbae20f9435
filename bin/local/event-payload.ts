/** Payloads of the Events API as Slack posts them (https://docs.slack.dev/apis/events-api), for the stand-in's workspace. */
import { workspace } from "./stand-in/workspace.ts";

/** A post as the event is to tell of it. */
export type PostedByPerson = { channel: string; ts: string; threadTs?: string | undefined; user: string; text: string };

/**
 * `app_mention` and `message` for the same post differ in `event_id` and little else. `eventId` is Slack's, different for
 * each event; redeliveries keep it.
 */
export function eventPayload({
  event,
  message: { channel, ts, threadTs, user, text },
  eventId = `Ev${event === "message" ? "M" : "A"}${ts.replace(".", "")}`,
}: {
  event: "app_mention" | "message";
  message: PostedByPerson;
  eventId?: string;
}) {
  const { team, app, botUser } = workspace;
  return {
    token: "retired-verification-token",
    team_id: team,
    context_team_id: team,
    context_enterprise_id: null,
    api_app_id: app,
    event: {
      user,
      type: event,
      ts,
      client_msg_id: `stand-in-${ts}`,
      text,
      team,
      blocks: [
        {
          type: "rich_text",
          block_id: "b1",
          elements: [{ type: "rich_text_section", elements: [{ type: "text", text }] }],
        },
      ],
      ...(threadTs === undefined ? {} : { thread_ts: threadTs }),
      channel,
      event_ts: ts,
      ...(event === "message" ? { channel_type: channel.startsWith("D") ? "im" : "channel" } : {}),
    },
    type: "event_callback",
    event_id: eventId,
    event_time: Number(ts.split(".")[0]),
    authorizations: [
      { enterprise_id: null, team_id: team, user_id: botUser, is_bot: true, is_enterprise_install: false },
    ],
    is_ext_shared_channel: false,
    event_context: `4-${eventId}`,
  };
}
