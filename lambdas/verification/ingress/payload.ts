/** What Slack posts to the events URL (https://docs.slack.dev/apis/events-api): the fields that matter here, all others ignored. */
import * as z from "zod";

const slackId = z.string().min(1).max(64);
const slackTs = z
  .string()
  .max(32)
  .regex(/^\d+\.\d+$/);

const urlVerificationSchema = z.object({ type: z.literal("url_verification"), challenge: z.string().min(1).max(1024) });

const eventCallbackSchema = z.object({
  type: z.literal("event_callback"),
  api_app_id: slackId,
  team_id: slackId,
  /** The workspace of the installation, where it differs from `team_id` (Enterprise Grid, Slack Connect). */
  context_team_id: slackId.nullish(),
  /** Whom the event was delivered for: the bot, or a person who gave the app a user token (`is_bot: false`). */
  authorizations: z.array(z.object({ user_id: slackId, is_bot: z.boolean().nullish() })).nullish(),
  event: z.looseObject({ type: z.string() }),
});
export type EventCallback = z.infer<typeof eventCallbackSchema>;

/** `message` and `app_mention`, of whatever subtype. */
export const messageEventSchema = z.object({
  type: z.enum(["message", "app_mention"]),
  subtype: z.string().nullish(),
  hidden: z.boolean().nullish(),
  edited: z.unknown().optional(),
  bot_id: z.string().nullish(),
  user: slackId.nullish(),
  channel: slackId,
  channel_type: z.string().nullish(),
  ts: slackTs,
  thread_ts: slackTs.nullish(),
  text: z.string().nullish(),
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
