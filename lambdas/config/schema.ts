/** The configuration file `sekisho.config.json`: its fields, their defaults and their meaning. */
import * as z from "zod";
import { askerSchema } from "./asker-schema.ts";
import { authenticatorSchema } from "./authenticator-schema.ts";
import { destinationSchema } from "./destination-schema.ts";
import { executionSchema } from "./execution-schema.ts";
import { botIdSchema, slackIdSchema, slackSchema } from "./slack-schema.ts";
import { stageNameSchema, stageSchema } from "./stage-schema.ts";
import { telemetrySchema } from "./telemetry-schema.ts";
import { integer, nameSchema } from "./values.ts";

/** A message is allowed if it matches every field of at least one rule. */
export const allowlistRuleSchema = z
  .strictObject({
    team: slackIdSchema
      .optional()
      .describe(
        "This workspace (T…), or this organization (E…) if the app is installed in all of it. Required with slack.install.",
      ),
    channel: slackIdSchema.optional().describe("This channel (C…)."),
    user: slackIdSchema.optional().describe("This user (U…)."),
    group: slackIdSchema.optional().describe("The members of this user group (S…)."),
    bot: botIdSchema
      .optional()
      .describe(
        "This bot (B…), app (A…) or workflow (Wf…), if it mentions the bot. Without it, a rule matches people only.",
      ),
    external: z
      .enum(["channels", "people"])
      .optional()
      .describe(
        "Also matches in channels of Slack Connect: for your own people (channels), or for those of other organizations too (people). Default: neither.",
      ),
    label: z.string().min(1).max(80).optional().describe("A note. Matches nothing."),
  })
  .refine(
    ({ team, channel, user, group, bot }) => team ?? channel ?? user ?? group ?? bot,
    "must have at least one of team, channel, user, group and bot",
  )
  .refine(
    ({ user, group, bot }) => bot === undefined || (user ?? group) === undefined,
    "must not have both bot and user or group, because no message is of both",
  );
export type AllowlistRule = z.infer<typeof allowlistRuleSchema>;

export const routeSchema = z.strictObject({
  team: slackIdSchema.optional().describe("This workspace (T…)."),
  channel: slackIdSchema.optional().describe("This channel (C…)."),
  word: z
    .string()
    .regex(/^[\p{L}\p{N}][\p{L}\p{N}_-]{0,63}$/u, "must be one word without the colon")
    .optional()
    .describe("A message that begins with this word and a colon, which the agent does not get."),
  keepsWord: z
    .boolean()
    .optional()
    .describe("The agent gets the word and the colon. Default: false."),
  destination: z
    .union(
      [nameSchema, z.array(nameSchema).min(1).max(8)],
      "must be the name of a destination, or a list of names",
    )
    .transform((names) => (typeof names === "string" ? [names] : names))
    .describe(
      "A destination, or several in order of preference: a task fails over only if it certainly never arrived.",
    ),
  sharesHistory: z
    .boolean()
    .optional()
    .describe(
      "Agents of another route get the answers of this one, in a thread that changes to it. Default: false.",
    ),
});
export type Route = z.infer<typeof routeSchema>;

const quotaSchema = z
  .strictObject({
    tasks: integer(1, 1000)
      .optional()
      .describe("The most tasks within perSeconds. Default: no limit."),
    perSeconds: integer(1, 86_400).default(3600).describe("The period for which tasks counts."),
    atOnce: integer(1, 1000)
      .optional()
      .describe("The most tasks at the same time. Default: no limit."),
  })
  .refine(({ tasks, atOnce }) => tasks ?? atOnce, "must have at least one of tasks and atOnce");
export type Quota = z.infer<typeof quotaSchema>;

const filesSchema = z.strictObject({
  maxBytes: integer(1, 100 * 1024 * 1024)
    .default(20 * 1024 * 1024)
    .describe("The largest file of a message or an answer."),
  maxCount: integer(0, 20)
    .default(10)
    .describe("The most files of one message. 0: none is sent to the agent."),
  canvases: z
    .boolean()
    .default(false)
    .describe("Sends a canvas as Markdown. Scope: canvases:read."),
});

const limitsSchema = z
  .strictObject({
    concurrency: integer(1, 1000)
      .default(64)
      .describe(
        "The most tasks (slots) of one process. On AWS a process has at most 10, and stages.NAME.scale sets the number of processes.",
      ),
    sendsPerDestination: integer(1)
      .optional()
      .describe("The default of the destinations' sendsAtOnce. Default: half of concurrency."),
    sweepAfterMs: integer(1000, 3600_000)
      .default(120_000)
      .describe(
        "When the thread is checked for duplicates, after the answer. Below a minute it may miss a late post.",
      ),
    callTimeoutMs: integer(100, 600_000)
      .default(30_000)
      .describe("The time limit for one call to the Execution zone."),
    leaseMs: integer(500, 3600_000)
      .default(60_000)
      .describe("How long a lease on a task lasts. More than 1.1 times callTimeoutMs."),
    visibilityTimeoutMs: integer(1000, 12 * 3600_000)
      .default(90_000)
      .describe("The queue's visibility timeout. More than leaseMs."),
    maxReceiveCount: integer(1, 1000)
      .default(5)
      .describe("Deliveries of a queue message before it becomes a dead letter."),
    perUser: quotaSchema.optional().describe("The quota for each user. Default: no limit."),
    perChannel: quotaSchema.optional().describe("The quota for each channel. Default: no limit."),
  })
  .refine(({ callTimeoutMs, leaseMs }) => callTimeoutMs < leaseMs * 0.9, {
    path: ["leaseMs"],
    message:
      "must be more than 1.1 times limits.callTimeoutMs, so that a call ends before its lease; raise it or lower limits.callTimeoutMs",
  })
  .refine(({ sendsPerDestination = 1, concurrency }) => sendsPerDestination <= concurrency, {
    path: ["sendsPerDestination"],
    message:
      "must be at most limits.concurrency; a lower value leaves slots for other destinations",
  })
  .refine(({ leaseMs, visibilityTimeoutMs }) => leaseMs < visibilityTimeoutMs, {
    path: ["visibilityTimeoutMs"],
    message: "must be more than limits.leaseMs; raise it or lower limits.leaseMs",
  });

const usageHistorySchema = z.strictObject({
  retentionDays: integer(0, 3650)
    .default(30)
    .describe(
      "How long a finished task is in reports. The zone keeps it for 30 days in any case. 0: no reports.",
    ),
  texts: z.boolean().default(false).describe("Also keeps the beginning of messages and answers."),
});

const operatorsSchema = z.strictObject({
  authenticator: authenticatorSchema
    .default({ type: "none" })
    .describe("How it authenticates its users. Needed beyond loopback."),
});

/** Checks each field alone. `parseConfig` also checks the fields against each other. */
export const configFields = z.strictObject({
  $schema: z.string().optional().describe("The path of this schema, for editors."),
  slack: slackSchema.prefault({}).describe("The Slack app: its secrets and its behaviour."),
  allowlist: z
    .array(allowlistRuleSchema)
    .default([])
    .describe(
      "Who may use the bot: a message that matches every field of a rule, here or of `sekisho allow`. Without rules, nobody.",
    ),
  files: filesSchema.prefault({}).describe("The limits for files of messages and answers."),
  destinations: z
    .record(nameSchema, destinationSchema)
    .prefault({ local: { transport: "https" } })
    .describe("Where tasks can be sent, by name."),
  routes: z
    .array(routeSchema)
    .prefault([{ destination: "local" }])
    .describe("The rules that choose the destination of a message. The first match decides."),
  execution: executionSchema.prefault({}).describe("Sekisho's own Execution host and its agents."),
  asker: askerSchema.optional(),
  limits: limitsSchema
    .prefault({})
    .describe("The limits and time limits of the Verification zone."),
  telemetry: telemetrySchema.prefault({}).describe("Log lines, metrics and spans of both zones."),
  usageHistory: usageHistorySchema
    .prefault({})
    .describe("Reports of finished tasks: who asked when, at which destination, and how it ended."),
  operators: operatorsSchema.prefault({}).describe("The operators' page."),
  stages: z
    .record(stageNameSchema, stageSchema)
    .default({})
    .describe("The stages that `cdk deploy` creates on AWS, by name."),
});

export type Config = z.infer<typeof configFields>;
