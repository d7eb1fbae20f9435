/** The stages of the configuration: the accounts and regions of the zones, and how tasks are executed there. */
import * as z from "zod";
import { integer, oneOf, regionSchema } from "./values.ts";

const accountSchema = z.string().regex(/^\d{12}$/, "an AWS account id: 12 digits, as a string");
/** Short, because AWS limits the length of the names that include it. */
export const stageNameSchema = z.string().regex(/^[a-z][a-z0-9]{0,15}$/, "up to 16 lower-case letters and digits");

/** A layer belongs to a region. */
const layerSchema = z
  .string()
  .regex(/^arn:aws[a-z-]*:lambda:[a-z0-9-]+:\d{12}:layer:[A-Za-z0-9_-]+:\d+$/, "the ARN of a layer's version")
  .optional()
  .describe(
    "A layer with a collector for each function (arm64), such as AWS Distro for OpenTelemetry, in the zone's region.",
  );

const executionPlace = {
  account: accountSchema.optional().describe("Default: the Verification zone's."),
  region: regionSchema.optional().describe("Default: the Verification zone's."),
};

/** The platform's limit for runtimes on microVMs. */
const maxSessionSeconds = 28_800;

/** Balances warm follow-ups against cost; docs/operations.md has the figures. */
export const defaultIdleSeconds = 120;

const sessionLife = {
  idleSeconds: integer(60, maxSessionSeconds)
    .default(defaultIdleSeconds)
    .describe("A session without a call and without a running task ends after this time. It is paid for until then."),
  maxLifetimeSeconds: integer(900, maxSessionSeconds)
    .default(maxSessionSeconds)
    .describe(
      "A session ends after this time, whatever runs in it. A task that may take longer than what is left gets a new one.",
    ),
};

const stageExecutionSchema = z
  .discriminatedUnion(
    "kind",
    [
      z
        .strictObject({
          kind: z.literal("agentcore"),
          ...executionPlace,
          stopAfterResult: z
            .boolean()
            .default(false)
            .describe("A session per task, stopped when the task is over, instead of one per thread that stays warm."),
          ...sessionLife,
        })
        .refine(({ idleSeconds, maxLifetimeSeconds }) => idleSeconds <= maxLifetimeSeconds, {
          path: ["idleSeconds"],
          message: "must be at most maxLifetimeSeconds",
        })
        .describe("A Bedrock AgentCore Runtime."),
      z
        .strictObject({ kind: z.literal("lambda"), ...executionPlace, telemetryLayer: layerSchema })
        .describe("Lambda; a task takes 14 minutes at most."),
      z.strictObject({ kind: z.literal("external") }).describe("Nothing is deployed; the routes lead elsewhere."),
    ],
    oneOf("agentcore", "lambda", "external"),
  )
  .describe("Where and how tasks are executed.");

/** AWS's limits for the event source of a queue. */
const atOnce = integer(2, 1000);

const scaleSchema = z
  .strictObject({
    workerConcurrency: atOnce
      .default(2)
      .describe("Invocations of the worker at once. Each moves up to ten tasks. The account's limit must allow them."),
    agentConcurrency: atOnce
      .optional()
      .describe("Tasks that are executed at once where execution is on lambda: one invocation each. Default: 2."),
    eventsPerSecond: integer(1, 10_000)
      .default(50)
      .describe(
        "Requests from Slack that are let through. Allow about ten for each workspace: Slack sends it at most 30,000 an hour.",
      ),
    eventBurst: integer(1, 10_000).default(200).describe("Requests from Slack that may come at once."),
    reservedIngress: integer(1, 1000)
      .optional()
      .describe(
        "Concurrency that is reserved for the ingress, which is also its limit. AWS refuses it if less than 100 would be left for the other functions of the account.",
      ),
  })
  .refine(({ eventsPerSecond, eventBurst }) => eventsPerSecond <= eventBurst, {
    path: ["eventBurst"],
    message: "must be at least eventsPerSecond",
  });

export const defaultAgentConcurrency = 2;

export const stageSchema = z.strictObject({
  verification: z.strictObject({ account: accountSchema, region: regionSchema, telemetryLayer: layerSchema }),
  execution: stageExecutionSchema.prefault({ kind: "agentcore" }),
  scale: scaleSchema
    .prefault({})
    .describe("How much may run at once. The defaults fit into an account that allows ten invocations."),
  production: z
    .boolean()
    .default(false)
    .describe("Data and keys outlive the stacks. Otherwise everything goes with its stack."),
  alarmEmail: z.email().optional().describe("The address that gets the alarms. AWS asks once to confirm it."),
  logRetentionDays: z.literal([1, 3, 5, 7, 14, 30, 60, 90, 180, 365]).default(30),
});
export type Stage = z.infer<typeof stageSchema>;
export type ExecutionKind = Stage["execution"]["kind"];
