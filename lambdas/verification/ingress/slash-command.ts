/** A slash command (https://docs.slack.dev/interactivity/implementing-slash-commands#app_command_handling): a question of its own, without a message. */
import * as z from "zod/mini";
import type { AskedMessage } from "../task/messages.ts";
import { askedText } from "./asked-text.ts";
import { installationFields } from "./installation.ts";
import { slackId } from "./payload.ts";
import { requestIdOf } from "./request-id.ts";

/** A post's ts has one dot and digits alone: what looks like one must not claim a post's request id. */
const triggerId = z.string().check(
  z.minLength(1),
  z.maxLength(255),
  z.refine((id) => !/^\d+\.\d+$/.test(id)),
);

const slashCommandSchema = z.object({
  api_app_id: slackId,
  team_id: slackId,
  enterprise_id: z.nullish(slackId),
  /** In a form everything is text. */
  is_enterprise_install: z.nullish(z.union([z.boolean(), z.string()])),
  channel_id: slackId,
  user_id: slackId,
  text: z.nullish(z.string()),
  trigger_id: triggerId,
});

/** The request id is derived from the trigger, which Slack gives out once for each use of the command. */
export function slashCommandOf({
  payload,
  nowMs,
}: {
  payload: unknown;
  nowMs: number;
}): { requestId: string; asked: AskedMessage } | { drop: "unknown_payload" } {
  const { data } = slashCommandSchema.safeParse(payload);
  if (data === undefined) return { drop: "unknown_payload" };
  const { api_app_id: appId, channel_id: channel, trigger_id, user_id: user } = data;
  const organization = String(data.is_enterprise_install) === "true" ? data.enterprise_id : undefined;
  return {
    requestId: requestIdOf({ appId, channel, ts: trigger_id }),
    asked: {
      appId,
      ...installationFields({ team: data.team_id, organization }),
      channel,
      user,
      ts: (nowMs / 1000).toFixed(6),
      direct: channel.startsWith("D"),
      text: askedText({ text: data.text ?? "", botUsers: [] }),
      command: true,
    },
  };
}
