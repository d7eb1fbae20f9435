/** What Slack posts to the events URL (https://docs.slack.dev/apis/events-api): the fields that matter here, all others ignored. */
// The ingress answers first: what it loads counts in every cold start, and this is a fifth of the whole of zod.
import * as z from "zod/mini";

const slackId = z.string().check(z.minLength(1), z.maxLength(64));
const slackTs = z.string().check(z.maxLength(32), z.regex(/^\d+\.\d+$/));

const urlVerificationSchema = z.object({
  type: z.literal("url_verification"),
  challenge: z.string().check(z.minLength(1), z.maxLength(1024)),
});

const eventCallbackSchema = z.object({
  type: z.literal("event_callback"),
  api_app_id: slackId,
  team_id: slackId,
  /** The workspace of the installation, where it differs from `team_id` (Enterprise Grid, Slack Connect). */
  context_team_id: z.nullish(slackId),
  /** Whom the event was delivered for: the bot, or a person who gave the app a user token (`is_bot: false`). */
  authorizations: z.nullish(z.array(z.object({ user_id: slackId, is_bot: z.nullish(z.boolean()) }))),
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
  user: z.nullish(slackId),
  channel: slackId,
  channel_type: z.nullish(z.string()),
  ts: slackTs,
  thread_ts: z.nullish(slackTs),
  text: z.nullish(z.string()),
});
export type MessageEvent = z.infer<typeof messageEventSchema>;

const strictUtf8 = new TextDecoder("utf-8", { fatal: true });
const payloadSchema = z.discriminatedUnion("type", [urlVerificationSchema, eventCallbackSchema]);

/** Undefined where the bytes are not UTF-8, not JSON or no payload of the Events API. */
export function parsePayload(body: Uint8Array): z.infer<typeof payloadSchema> | undefined {
  try {
    return payloadSchema.safeParse(JSON.parse(strictUtf8.decode(body))).data;
  } catch {
    return undefined;
  }
}
