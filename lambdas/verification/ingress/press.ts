/** A button of ours that a person pressed (https://docs.slack.dev/reference/interaction-payloads/block_actions-payload). */
import * as z from "zod/mini";
import { decodeButton } from "../slack/buttons.ts";
import type { Press } from "../task/messages.ts";
import { installationFields } from "./installation.ts";
import { slackId, slackTs } from "./payload.ts";

const blockActionsSchema = z.object({
  type: z.literal("block_actions"),
  is_enterprise_install: z.nullish(z.boolean()),
  enterprise: z.nullish(z.object({ id: slackId })),
  /** Null where the app is installed in the organization. */
  team: z.nullish(z.object({ id: slackId })),
  user: z.object({ id: slackId, team_id: z.nullish(slackId) }),
  channel: z.nullish(z.object({ id: slackId })),
  message: z.nullish(z.object({ thread_ts: z.nullish(slackTs) })),
  container: z.nullish(z.object({ channel_id: z.nullish(slackId), thread_ts: z.nullish(slackTs) })),
  actions: z.array(z.object({ action_id: z.string(), value: z.nullish(z.string()) })).check(z.minLength(1)),
});

/** Other interactions than presses of our buttons are none of the bot's; Slack sends one action at a time. */
export function pressOf({
  payload,
  nowMs,
}: {
  payload: unknown;
  nowMs: number;
}): { message: Press } | { drop: "other_interaction" } {
  const { data } = blockActionsSchema.safeParse(payload);
  const [action] = data?.actions ?? [];
  const pressed = action && decodeButton({ action_id: action.action_id, value: action.value ?? "" });
  const team = data?.team?.id ?? data?.user.team_id;
  const channel = data?.channel?.id ?? data?.container?.channel_id;
  if (data === undefined || pressed === undefined || !team || !channel) return { drop: "other_interaction" };
  const organization = data.is_enterprise_install ? data.enterprise?.id : undefined;
  const threadTs = data.message?.thread_ts ?? data.container?.thread_ts;
  return {
    message: {
      type: "press",
      requestId: pressed.requestId,
      ...installationFields({ team, organization }),
      channel,
      ...(threadTs ? { threadTs } : {}),
      user: data.user.id,
      atMs: nowMs,
      button: pressed.button,
    },
  };
}
