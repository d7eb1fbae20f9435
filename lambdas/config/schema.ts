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
        "Matches messages in this workspace (T…), or in this organization (E…) if the app is installed in all of it. Required with slack.install.",
      ),
    channel: slackIdSchema.optional().describe("Matches messages in this channel (C…)."),
    user: slackIdSchema.optional().describe("Matches messages of this user (U…)."),
    group: slackIdSchema
      .optional()
      .describe("Matches messages of the current members of this user group (S…)."),
    bot: botIdSchema
      .optional()
      .describe(
        "Matches messages of this bot (B…), app (A…) or workflow (Wf…) that mention the bot, in place of user and group. Without it, a rule matches people only.",
      ),
    external: z
      .enum(["channels", "people"])
      .optional()
      .describe(
        "Also matches in channels that are shared with other organizations (Slack Connect). channels: messages of your own people there; people: those of the other organizations, too. Default: neither.",
      ),
    label: z
      .string()
      .min(1)
      .max(80)
      .optional()
      .describe("A note that says what the rule is for. Matches nothing."),
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
  team: slackIdSchema.optional().describe("Matches messages in this workspace (T…)."),
  channel: slackIdSchema.optional().describe("Matches messages in this channel (C…)."),
  word: z
    .string()
    .regex(/^[\p{L}\p{N}][\p{L}\p{N}_-]{0,63}$/u, "must be one word without the colon")
    .optional()
    .describe(
      "Matches messages that begin with this word and a colon. The agent gets the message without them.",
    ),
  keepsWord: z
    .boolean()
    .optional()
    .describe("The agent gets the message with the word and the colon. Default: false."),
  destination: z
    .union(
      [nameSchema, z.array(nameSchema).min(1).max(8)],
      "must be the name of a destination, or a list of names",
    )
    .transform((names) => (typeof names === "string" ? [names] : names))
    .describe(
      "The name of a destination, or up to 8 names in order of preference. A task fails over to the next one only if it certainly never arrived.",
    ),
  sharesHistory: z
    .boolean()
    .optional()
    .describe(
      "In a thread that changes to another route, the agent of that route gets the answers of this one, too. Default: false.",
    ),
});
export type Route = z.infer<typeof routeSchema>;

const quotaSchema = z
  .strictObject({
    tasks: integer(1, 1000)
      .optional()
      .describe("The most tasks within perSeconds. Default: no limit."),
    perSeconds: integer(1, 86_400)
      .default(3600)
      .describe("The period for which tasks counts, in seconds."),
    atOnce: integer(1, 1000)
      .optional()
      .describe("The most tasks at the same time. Default: no limit."),
  })
  .refine(({ tasks, atOnce }) => tasks ?? atOnce, "must have at least one of tasks and atOnce");
export type Quota = z.infer<typeof quotaSchema>;

const filesSchema = z.strictObject({
  maxBytes: integer(1, 100 * 1024 * 1024)
    .default(20 * 1024 * 1024)
    .describe("The largest file of a message or an answer, in bytes."),
  maxCount: integer(0, 20)
    .default(10)
    .describe(
      "The most files of one message that the agent gets. 0: files are not sent to the agent.",
    ),
  canvases: z
    .boolean()
    .default(false)
    .describe(
      "The app's manifest asks for the scope canvases:read, so that a canvas of a message is sent as Markdown.",
    ),
});

const limitsSchema = z
  .strictObject({
    concurrency: integer(1, 1000)
      .default(64)
      .describe(
        "The most tasks that one process handles at once. A call to the Execution zone holds one of these slots. On AWS a process handles at most 10 tasks, and stages.NAME.scale sets the number of processes.",
      ),
    sendsPerDestination: integer(1)
      .optional()
      .describe(
        "The most tasks that one process sends to one destination at once, and a quarter as many polls, so that a destination that hangs leaves slots for the others. A destination's sendsAtOnce takes precedence. Neither exceeds the destination's share of the slots. Default: half of concurrency.",
      ),
    sweepAfterMs: integer(1000, 3600_000)
      .default(120_000)
      .describe(
        "How long after the answer the thread is checked for a duplicate, in milliseconds. A post that timed out can appear up to a minute later, so a shorter time may miss it.",
      ),
    callTimeoutMs: integer(100, 600_000)
      .default(30_000)
      .describe("The time limit for one call to the Execution zone, in milliseconds."),
    leaseMs: integer(500, 3600_000)
      .default(60_000)
      .describe(
        "How long a worker's lease on a task lasts, in milliseconds. More than 1.1 times callTimeoutMs. It is renewed during a longer call of a destination.",
      ),
    visibilityTimeoutMs: integer(1000, 12 * 3600_000)
      .default(90_000)
      .describe("The queue's visibility timeout, in milliseconds. More than leaseMs."),
    maxReceiveCount: integer(1, 1000)
      .default(5)
      .describe("How many times a queue message is delivered before it becomes a dead letter."),
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
      "How long a finished task is kept for reports, in days. The zone itself keeps it for 30 days in any case. 0: it is in no report.",
    ),
  texts: z
    .boolean()
    .default(false)
    .describe("Also keeps the beginning of the texts of messages and answers."),
});

const operatorsSchema = z.strictObject({
  authenticator: authenticatorSchema
    .default({ type: "none" })
    .describe(
      "How the operators' page authenticates its users. Needed if it does not listen on loopback.",
    ),
});

/** Checks each field alone. `parseConfig` also checks the fields against each other. */
export const configFields = z.strictObject({
  $schema: z.string().optional().describe("The path of this schema, for editors."),
  slack: slackSchema.prefault({}).describe("The Slack app: its secrets and its behaviour."),
  allowlist: z
    .array(allowlistRuleSchema)
    .default([])
    .describe(
      "Who may use the bot. A message is allowed if it matches every field of at least one rule, here or of `sekisho allow`. Without any rule, nobody may use the bot.",
    ),
  files: filesSchema.prefault({}).describe("The limits for files of messages and answers."),
  destinations: z
    .record(nameSchema, destinationSchema)
    .prefault({ local: { transport: "https" } })
    .describe("The places to which tasks can be sent, by name."),
  routes: z
    .array(routeSchema)
    .prefault([{ destination: "local" }])
    .describe(
      "The rules that choose the destination of a message. The first route that matches decides.",
    ),
  execution: executionSchema
    .prefault({})
    .describe(
      "Sekisho's own Execution host and its agent. These keys have no effect on agents elsewhere.",
    ),
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
