/** Who may ask: rules of the configuration, default deny. */
import * as z from "zod";
import type { AskedMessage } from "../task/messages.ts";

const slackId = z.string().min(1).max(64);

/** All given fields must match. Strict, since a misspelt field that is ignored would make the rule wider than it reads. */
export const allowlistRuleSchema = z
  .strictObject({ team: slackId.optional(), channel: slackId.optional(), user: slackId.optional() })
  .refine((rule) => fields.some((field) => rule[field] !== undefined), "name at least one of team, channel and user");
export type AllowlistRule = z.infer<typeof allowlistRuleSchema>;

const fields = ["team", "channel", "user"] as const;

/** Whether one of the rules fits. No rules: nobody. A rule without fields fits nobody either. */
export function isAllowed({ rules, message }: { rules: readonly AllowlistRule[]; message: AskedMessage }): boolean {
  return rules.some((rule) => {
    const given = fields.filter((field) => rule[field] !== undefined);
    return given.length > 0 && given.every((field) => rule[field] === message[field]);
  });
}
