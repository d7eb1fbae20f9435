/** The configuration file `sekisho.config.json`: its fields, their defaults and their meaning. */
import * as z from "zod";
import { authenticatorSchema } from "./authenticator-schema.ts";
import { destinationSchema } from "./destination-schema.ts";
import { executionSchema } from "./execution-schema.ts";
import { slackIdSchema, slackSchema } from "./slack-schema.ts";
import { stageNameSchema, stageSchema } from "./stage-schema.ts";
import { telemetrySchema } from "./telemetry-schema.ts";
import { integer } from "./values.ts";

const nameSchema = z.string().regex(/^[a-z][a-z0-9-]{0,62}$/, "lower-case letters, digits and hyphens");

/** Who may ask. A message must match every field of at least one rule. */
export const allowlistRuleSchema = z
  .strictObject({
    // An organization's id would match nothing, because every message belongs to a workspace.
    team: slackIdSchema.refine((id) => !id.startsWith("E"), "a workspace's id (T…), not an organization's").optional(),
    channel: slackIdSchema.optional(),
    user: slackIdSchema.optional(),
    group: slackIdSchema.optional().describe("A user group of Slack (S…). Its current members match."),
    label: z.string().min(1).max(80).optional().describe("A note for people, such as what the rule is for."),
  })
  .refine(
    ({ team, channel, user, group }) => team ?? channel ?? user ?? group,
    "name at least one of team, channel, user, group",
  );
export type AllowlistRule = z.infer<typeof allowlistRuleSchema>;

const routeSchema = z.strictObject({
  team: slackIdSchema.optional(),
  channel: slackIdSchema.optional(),
  word: z
    .string()
    .regex(/^[\p{L}\p{N}][\p{L}\p{N}_-]{0,63}$/u, "one word, without the colon")
    .optional()
    .describe("The message begins with this word and a colon. It is sent as it was written."),
  destination: z
    .union([nameSchema, z.array(nameSchema).min(1).max(8)], "the name of a destination, or a list of names")
    .transform((names) => (typeof names === "string" ? [names] : names))
    .describe(
      "Of several, the first that can be reached. A task goes to the next one only if it certainly did not arrive.",
    ),
});
export type Route = z.infer<typeof routeSchema>;

const quotaSchema = z
  .strictObject({
    tasks: integer(1, 1000).optional().describe("Tasks that are accepted within perSeconds."),
    perSeconds: integer(1, 86_400).default(3600),
    atOnce: integer(1, 1000).optional().describe("Tasks that are under way at the same time."),
  })
  .refine(({ tasks, atOnce }) => tasks ?? atOnce, "name at least one of tasks, atOnce");
export type Quota = z.infer<typeof quotaSchema>;

const filesSchema = z.strictObject({
  maxBytes: integer(1, 100 * 1024 * 1024)
    .default(20 * 1024 * 1024)
    .describe("The largest size of one file of a message or an answer."),
  maxCount: integer(0, 20).default(10).describe("The most files of one message that are sent to the agent. 0: none."),
});

const limitsSchema = z
  .strictObject({
    concurrency: integer(1, 1000)
      .default(64)
      .describe(
        "Tasks that one process moves at once. A call under way holds one of these slots and costs hardly anything else. On AWS a process has ten tasks at most, and stages.NAME.scale says how many processes there are.",
      ),
    sendsPerDestination: integer(1)
      .optional()
      .describe(
        "Tasks that one process sends to one destination at once, and a quarter as many polls. So a destination that hangs leaves room for the others. Default: half of concurrency. A destination's sendsAtOnce takes precedence.",
      ),
    sweepAfterMs: integer(1000, 3600_000)
      .default(120_000)
      .describe(
        "How long after the answer the thread is checked once more. A post that timed out may appear up to a minute later, so with less than that a duplicate answer can stay.",
      ),
    callTimeoutMs: integer(100, 600_000).default(30_000).describe("The limit for one call to the Execution zone."),
    leaseMs: integer(500, 3600_000).default(60_000).describe("A worker's claim on a task; longer than a call."),
    visibilityTimeoutMs: integer(1000, 12 * 3600_000)
      .default(90_000)
      .describe("The queue's visibility timeout; longer than the lease."),
    maxReceiveCount: integer(1, 1000).default(5).describe("Deliveries before a message is a dead letter."),
    perUser: quotaSchema.optional().describe("What one user may ask for. Without it nothing is counted."),
    perChannel: quotaSchema.optional().describe("What may be asked for in one channel."),
  })
  .refine(({ callTimeoutMs, leaseMs }) => callTimeoutMs < leaseMs * 0.9, {
    path: ["leaseMs"],
    message: "must be more than 1.1 times callTimeoutMs, so that a call ends before the lease does",
  })
  .refine(({ sendsPerDestination = 1, concurrency }) => sendsPerDestination <= concurrency, {
    path: ["sendsPerDestination"],
    message: "must be at most concurrency; less leaves other destinations room",
  })
  .refine(({ leaseMs, visibilityTimeoutMs }) => leaseMs < visibilityTimeoutMs, {
    path: ["visibilityTimeoutMs"],
    message: "must be more than leaseMs",
  });

const usageHistorySchema = z.strictObject({
  retentionDays: integer(0, 3650).default(30).describe("How long the history is kept. 0: there is none."),
  texts: z.boolean().default(false).describe("Also keep the texts of messages and answers."),
});

const operatorsSchema = z.strictObject({
  authenticator: authenticatorSchema
    .default({ type: "none" })
    .describe("Who may open the operators' page if it does not listen on loopback."),
});

/** Checks each field alone. `configSchema` also checks the fields against each other. */
export const configFields = z.strictObject({
  $schema: z.string().optional(),
  slack: slackSchema.prefault({}),
  allowlist: z
    .array(allowlistRuleSchema)
    .default([])
    .describe("Who may ask, in addition to the rules of `sekisho allow`. Empty means nobody."),
  files: filesSchema.prefault({}).describe("Files of messages and answers."),
  destinations: z
    .record(nameSchema, destinationSchema)
    .prefault({ local: { transport: "https" } })
    .describe("Where tasks can go."),
  routes: z
    .array(routeSchema)
    .prefault([{ destination: "local" }])
    .describe("The first route that fits a message decides."),
  execution: executionSchema.prefault({}),
  limits: limitsSchema.prefault({}),
  telemetry: telemetrySchema.prefault({}).describe("Log lines, metrics and spans."),
  usageHistory: usageHistorySchema.prefault({}).describe("Who asked when, for which destination, and how it ended."),
  operators: operatorsSchema.prefault({}).describe("The operators' page."),
  stages: z.record(stageNameSchema, stageSchema).default({}).describe("Where `cdk deploy` puts the zones."),
});

export type Config = z.infer<typeof configFields>;
