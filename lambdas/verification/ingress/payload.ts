/** What Slack sends (https://docs.slack.dev/apis/events-api): the fields of it that matter here, all others ignored. */
// The ingress answers first: what it loads counts in every cold start, and this is a fifth of the whole of zod.
import * as z from "zod/mini";
import { slackId } from "../slack/api/user-text.ts";

export const slackTs = z.string().check(z.maxLength(32), z.regex(/^\d+\.\d+$/));

export const urlVerificationSchema = z.object({
  type: z.literal("url_verification"),
  challenge: z.string().check(z.minLength(1), z.maxLength(1024)),
});

/** Whom an event was delivered for: the bot, or a person who gave the app a user token (`is_bot: false`). */
const authorizationSchema = z.object({
  user_id: slackId,
  is_bot: z.nullish(z.boolean()),
  is_enterprise_install: z.nullish(z.boolean()),
  enterprise_id: z.nullish(slackId),
});

export const eventCallbackSchema = z.object({
  type: z.literal("event_callback"),
  api_app_id: slackId,
  team_id: slackId,
  enterprise_id: z.nullish(slackId),
  /** The workspace and the organization of the installation, where they differ from those of the author (Enterprise Grid, Slack Connect). */
  context_team_id: z.nullish(slackId),
  context_enterprise_id: z.nullish(slackId),
  /** One installation at most, although the app may be in the channel with several. */
  authorizations: z.nullish(z.array(authorizationSchema)),
  /** The channel is shared with other organizations (Slack Connect). */
  is_ext_shared_channel: z.nullish(z.boolean()),
  event: z.looseObject({ type: z.string() }),
});
export type EventCallback = z.infer<typeof eventCallbackSchema>;

/** `message` and `app_mention`, of whatever subtype. */
export const messageEventSchema = z.object({
  type: z.enum(["message", "app_mention"]),
  subtype: z.nullish(z.string()),
  hidden: z.nullish(z.boolean()),
  edited: z.optional(z.unknown()),
  bot_id: z.nullish(z.string()),
  bot_profile: z.optional(z.unknown()),
  user: z.nullish(slackId),
  channel: slackId,
  channel_type: z.nullish(z.string()),
  ts: slackTs,
  thread_ts: z.nullish(slackTs),
  text: z.nullish(z.string()),
  /** Each is looked at by itself, so that an odd one does not cost the message. */
  files: z.nullish(z.array(z.unknown())),
});
export type MessageEvent = z.infer<typeof messageEventSchema>;
