/** The stages of the configuration: into which accounts and regions `cdk deploy` puts the zones, and how tasks are executed there. */
import * as z from "zod";
import { oneOf, regionSchema } from "./values.ts";

const accountSchema = z.string().regex(/^\d{12}$/, "an AWS account id: 12 digits, as a string");
/** Short, since it is part of names that AWS limits. */
export const stageNameSchema = z.string().regex(/^[a-z][a-z0-9]{0,15}$/, "up to 16 lower-case letters and digits");

/** A layer is of a region. */
const layerSchema = z
  .string()
  .regex(/^arn:aws[a-z-]*:lambda:[a-z0-9-]+:\d{12}:layer:[A-Za-z0-9_-]+:\d+$/, "the ARN of a layer's version")
  .optional()
  .describe(
    "A collector beside each function (arm64), such as that of AWS Distro for OpenTelemetry; of the zone's region.",
  );

const executionPlace = {
  account: accountSchema.optional().describe("Default: the Verification zone's."),
  region: regionSchema.optional().describe("Default: the Verification zone's."),
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

export const stageSchema = z.strictObject({
  verification: z.strictObject({ account: accountSchema, region: regionSchema, telemetryLayer: layerSchema }),
  execution: stageExecutionSchema.default({ kind: "agentcore", stopAfterResult: false }),
  production: z
    .boolean()
    .default(false)
    .describe("Data and keys outlive the stacks. Otherwise everything goes with its stack."),
  alarmEmail: z.email().optional().describe("Who hears of the alarms; asked once by AWS to confirm."),
  logRetentionDays: z.literal([1, 3, 5, 7, 14, 30, 60, 90, 180, 365]).default(30),
});
export type Stage = z.infer<typeof stageSchema>;
export type ExecutionKind = Stage["execution"]["kind"];
