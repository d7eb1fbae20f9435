/** Reads ports, the log level and other settings from the environment. Reports all problems at once. */
import * as z from "zod";
import { ConfigError } from "./config-error.ts";
import { proxyVariables } from "./proxy-environment.ts";

export const portSchema = z
  .string()
  .regex(/^\d{1,5}$/, "must be a port number")
  .transform(Number)
  .refine((port) => port <= 65_535, "must be a port number up to 65535");

/** For every entry that writes log lines. */
export const logVariables = {
  SEKISHO_LOG_LEVEL: z
    .enum(["debug", "info", "warn", "error"])
    .optional()
    .describe(
      "The lowest level of log lines: debug, info, warn or error. Default: telemetry.logs.level.",
    ),
  SEKISHO_LOG_DEBUG_RATIO: z
    .string()
    .transform(Number)
    .refine((ratio) => ratio >= 0 && ratio <= 1, "must be a number from 0 to 1")
    .optional()
    .describe(
      "The share of tasks, from 0 to 1, that are logged at all levels. Default: telemetry.logs.debugRatio.",
    ),
};

/** The variables of the local commands, with their meaning. */
export const environmentVariables = {
  SEKISHO_PORT: portSchema
    .prefault("3000")
    .describe("The port of the Verification zone on this machine."),
  SEKISHO_EXECUTION_PORT: portSchema
    .prefault("8080")
    .describe("The port of the Execution zone on this machine."),
  SEKISHO_METRICS_PORT: portSchema
    .optional()
    .describe("The port of the Verification zone's metrics. Default: none."),
  SEKISHO_SHOW_AGENT_ERRORS: z
    .enum(["0", "1"])
    .default("1")
    .describe("1 prints what an agent throws, for its developer."),
  ...logVariables,
  AWS_REGION: z.string().optional().describe("The region, where the configuration names none."),
  AWS_DEFAULT_REGION: z.string().optional().describe("The same, if AWS_REGION is not set."),
  AWS_SDK_UA_APP_ID: z.string().optional().describe("An ID of up to 50 characters in CloudTrail."),
  ...proxyVariables,
};

const environmentSchema = z.object(environmentVariables);

export type Environment = ReturnType<typeof readEnvironment>;

export function readEnvironment(variables: NodeJS.ProcessEnv = process.env) {
  const data = parseVariables(environmentSchema, variables);
  return {
    port: data.SEKISHO_PORT,
    executionPort: data.SEKISHO_EXECUTION_PORT,
    /** Undefined if the Verification zone serves no metrics. */
    metricsPort: data.SEKISHO_METRICS_PORT,
    logLevel: data.SEKISHO_LOG_LEVEL,
    debugRatio: data.SEKISHO_LOG_DEBUG_RATIO,
    /** False if a local run must not show the agent's own errors, which may hold texts. */
    showAgentErrors: data.SEKISHO_SHOW_AGENT_ERRORS === "1",
    /** From the same variables as the AWS command line. */
    awsRegion: data.AWS_REGION ?? data.AWS_DEFAULT_REGION,
  };
}

/** An empty variable counts as unset. Throws a ConfigError that lists all problems. */
export function parseVariables<T extends z.ZodType>(
  schema: T,
  variables: NodeJS.ProcessEnv,
): z.infer<T> {
  const set = Object.fromEntries(Object.entries(variables).filter(([, value]) => value !== ""));
  const { success, data, error } = schema.safeParse(set);
  if (success) return data;
  const problems = error.issues.map(({ path, message }) => `${path.join(".")}: ${message}`);
  throw new ConfigError("The environment", problems);
}

/** Reads what the CDK command line passes to its app: the context of `-c NAME=VALUE`, and the output directory. */
export function readCdkEnvironment(variables: NodeJS.ProcessEnv = process.env): {
  context: Record<string, unknown>;
  outdir: string;
} {
  return {
    context: JSON.parse(variables.CDK_CONTEXT_JSON || "{}"),
    outdir: variables.CDK_OUTDIR || "cdk.out",
  };
}
