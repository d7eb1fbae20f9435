/** The stages of the configuration: the accounts and regions of the zones, and how tasks are executed there. */
import * as z from "zod";
import { defaultIdleSeconds, maxSessionSeconds } from "./agentcore-session.ts";
import { idleSecondsSchema, integer, oneOf, regionSchema } from "./values.ts";

const accountSchema = z
  .string()
  .regex(/^\d{12}$/, "must be an AWS account id: 12 digits, as a string");
/** Short, because AWS limits the length of the names that include it. */
export const stageNameSchema = z
  .string()
  .regex(/^[a-z][a-z0-9]{0,15}$/, "must be up to 16 lower-case letters and digits");

/** A layer belongs to one region, so each zone names its own. */
const layerSchema = z
  .string()
  .regex(
    /^arn:aws[a-z-]*:lambda:[a-z0-9-]+:\d{12}:layer:[A-Za-z0-9_-]+:\d+$/,
    "must be the ARN of a layer version",
  )
  .optional()
  .describe(
    "The ARN of a Lambda layer with a collector, such as AWS Distro for OpenTelemetry (arm64). Default: none.",
  );

const executionPlace = {
  account: accountSchema
    .optional()
    .describe("The AWS account of the Execution zone. Default: the Verification zone's."),
  region: regionSchema
    .optional()
    .describe("The region of the Execution zone. Default: the Verification zone's."),
};

/** The versions of AgentCore's platform. */
const platformVersions = ["V1", "V2"] as const;
export type PlatformVersionName = (typeof platformVersions)[number];

const sessionLife = {
  idleSeconds: idleSecondsSchema
    .default(defaultIdleSeconds)
    .describe("How long a session lives idle. It is billed until it ends."),
  maxLifetimeSeconds: integer(900, maxSessionSeconds)
    .default(maxSessionSeconds)
    .describe("The longest lifetime of a session. A task that may not fit gets a new one."),
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
            .describe("One session per task, stopped after it, instead of a warm one per thread."),
          ...sessionLife,
          protocol: z
            .enum(["http", "a2a"])
            .default("http")
            .describe("The protocol of the runtime. a2a: serves A2A clients too."),
          platformVersion: z
            .enum(platformVersions)
            .default("V1")
            .describe(
              "The platform version. V2 starts sessions from a snapshot, so loading the agent file must compute nothing random or time-dependent.",
            ),
        })
        .refine(({ idleSeconds, maxLifetimeSeconds }) => idleSeconds <= maxLifetimeSeconds, {
          path: ["idleSeconds"],
          message: "must be at most maxLifetimeSeconds",
        })
        .describe("Runs tasks in a Bedrock AgentCore runtime."),
      z
        .strictObject({ kind: z.literal("lambda"), ...executionPlace, telemetryLayer: layerSchema })
        .describe("Runs tasks in a Lambda function, for at most 14 minutes each."),
      z
        .strictObject({ kind: z.literal("external") })
        .describe("Deploys no Execution zone. All routes lead to agents elsewhere."),
    ],
    oneOf("agentcore", "lambda", "external"),
  )
  .describe("Where tasks run.");

/** AWS's limits for the event source of a queue. */
const atOnce = integer(2, 1000);

const scaleSchema = z
  .strictObject({
    workerConcurrency: atOnce
      .default(2)
      .describe(
        "The most concurrent invocations of the worker, of up to 10 tasks each. The account's concurrency limit must allow them.",
      ),
    agentConcurrency: atOnce
      .optional()
      .describe("For the kind lambda: how many tasks run at once. Default: 2."),
    eventsPerSecond: integer(1, 10_000)
      .default(50)
      .describe("The most requests from Slack per second, about 10 per workspace."),
    eventBurst: integer(1, 10_000)
      .default(200)
      .describe("The most requests from Slack in a burst, at least eventsPerSecond."),
    reservedIngress: integer(1, 1000)
      .optional()
      .describe(
        "Reserved concurrency of the ingress, also its limit. AWS wants 100 left for other functions. Default: none is reserved.",
      ),
  })
  .refine(({ eventsPerSecond, eventBurst }) => eventsPerSecond <= eventBurst, {
    path: ["eventBurst"],
    message: "must be at least eventsPerSecond",
  });

export const defaultAgentConcurrency = 2;

export const stageSchema = z.strictObject({
  verification: z
    .strictObject({
      account: accountSchema.describe("The AWS account of the Verification zone."),
      region: regionSchema.describe("The region of the Verification zone."),
      telemetryLayer: layerSchema,
    })
    .describe("Where the Verification zone is deployed."),
  execution: stageExecutionSchema.prefault({ kind: "agentcore" }),
  scale: scaleSchema
    .prefault({})
    .describe("How much runs at once. The defaults fit an account with a concurrency limit of 10."),
  production: z.boolean().default(false).describe("Keeps data and keys when a stack is deleted."),
  alarmEmail: z
    .email()
    .optional()
    .describe("The e-mail address for alarms, which AWS asks once to confirm. Default: none."),
  logRetentionDays: z
    .literal([1, 3, 5, 7, 14, 30, 60, 90, 180, 365])
    .default(30)
    .describe("How long log lines are kept."),
});
export type Stage = z.infer<typeof stageSchema>;
export type ExecutionKind = Stage["execution"]["kind"];
