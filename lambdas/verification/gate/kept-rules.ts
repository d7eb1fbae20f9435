/** The allowlist's rules beside the configuration: one record of the task store, which `sekisho allow` changes. Pure. */
import * as z from "zod";
import type { AllowlistRule } from "../../shared/config/schema.ts";

export const keptRulesId = "allowlist";
export const maxRules = 1000;
/** A DynamoDB item holds 400 KB with everything that is beside the rules. */
export const maxRulesBytes = 300_000;
/** The record stays until it is changed. */
const neverMs = Date.UTC(9999, 0);

const slackIdSchema = z.string().regex(/^[A-Z0-9]{1,64}$/);
/** As in the configuration, whose own shape would bring all of it along. */
const ruleSchema = z
  .strictObject({
    team: slackIdSchema.optional(),
    channel: slackIdSchema.optional(),
    user: slackIdSchema.optional(),
    group: slackIdSchema.optional(),
    label: z.string().min(1).max(80).optional(),
  })
  .refine(({ team, channel, user, group }) => team ?? channel ?? user ?? group) satisfies z.ZodType<AllowlistRule>;

/** `number` is given once and never again, so that who removes by number never meets another rule. */
const keptRuleSchema = z.strictObject({ rule: ruleSchema, number: z.int().min(1), addedAtMs: z.int() });
export type KeptRule = z.infer<typeof keptRuleSchema>;

const keptRulesSchema = z.object({
  id: z.string(),
  revision: z.int(),
  state: z.literal("allowlist"),
  expiresAtMs: z.int(),
  lastNumber: z.int().min(0),
  rules: z.array(keptRuleSchema),
});
export type KeptRules = z.infer<typeof keptRulesSchema>;

/** Throws where the record is of a version whose rules this one cannot read: with a field less they could be wider. */
export function parseKeptRules(json: unknown): KeptRules {
  return keptRulesSchema.parse(json);
}

export function noKeptRules(): KeptRules {
  return { id: keptRulesId, revision: 1, state: "allowlist", expiresAtMs: neverMs, lastNumber: 0, rules: [] };
}
