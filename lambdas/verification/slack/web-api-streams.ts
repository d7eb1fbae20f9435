/** Native streams (https://docs.slack.dev/reference/methods/chat.startStream): a message that is shown as it is written. */
import * as z from "zod";
import { type SlackApi, SlackError } from "./slack.ts";
import type { SlackCall } from "./slack-call.ts";

const startedSchema = z.object({ ts: z.string() });

/** That there is no stream says nothing of posts: edits of a message still do. */
const noStreams = [
  "access_denied",
  "cannot_reply_to_message",
  "channel_type_not_supported",
  "missing_scope",
  "not_allowed_token_type",
  "restricted_action",
];
/** Slack has closed it after some minutes, or the person whom it is for has. */
const stopped = ["message_not_in_streaming_state", "stopped_by_user"];

export function createStreams(call: SlackCall): Pick<SlackApi, "startStream" | "appendStream" | "stopStream"> {
  return {
    async startStream({ channel, threadTs, user, markdown, ...common }) {
      const answer = await call({
        method: "chat.startStream",
        args: {
          channel,
          thread_ts: threadTs,
          markdown_text: markdown,
          recipient_user_id: user,
          recipient_team_id: common.installation.team,
        },
        ...common,
        repeatable: false,
        refusals: noStreams,
      });
      const started = startedSchema.safeParse(answer).data;
      if (started === undefined) throw new SlackError("ambiguous");
      return { ts: started.ts };
    },
    async appendStream({ channel, ts, markdown, ...common }) {
      const args = { channel, ts, markdown_text: markdown };
      await call({ method: "chat.appendStream", args, ...common, repeatable: false, refusals: noStreams });
    },
    async stopStream({ channel, ts, ...common }) {
      await call({ method: "chat.stopStream", args: { channel, ts }, ...common, repeatable: true, fine: stopped });
    },
  };
}
