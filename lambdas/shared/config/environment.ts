/** Reads ports, the log level and other settings from the environment. Reports all problems at once. */
import * as z from "zod";
import { ConfigError } from "./load.ts";

export const portSchema = z
  .string()
  .regex(/^\d{1,5}$/, "a port number")
  .transform(Number)
  .refine((port) => port <= 65_535, "a port number up to 65535");

/** For every entry that writes log lines. */
export const logVariables = {
  SEKISHO_LOG_LEVEL: z.enum(["debug", "info", "warn", "error"]).optional(),
  SEKISHO_LOG_DEBUG_RATIO: z
    .string()
    .transform(Number)
    .refine((ratio) => ratio >= 0 && ratio <= 1, "a number from 0 to 1")
    .optional(),
};

const environmentSchema = z.object({
  SEKISHO_PORT: portSchema.default(3000),
  SEKISHO_EXECUTION_PORT: portSchema.default(8080),
  SEKISHO_METRICS_PORT: portSchema.optional(),
  SEKISHO_SHOW_AGENT_ERRORS: z.enum(["0", "1"]).default("0"),
  ...logVariables,
  AWS_REGION: z.string().optional(),
  AWS_DEFAULT_REGION: z.string().optional(),
});

export type Environment = {
  port: number;
  executionPort: number;
  /** Undefined if the Verification zone serves no metrics. */
  metricsPort: number | undefined;
  logLevel: "debug" | "info" | "warn" | "error" | undefined;
  debugRatio: number | undefined;
  /** Whether the local run shows what an agent threw, for the agent's developer. */
  showAgentErrors: boolean;
  /** Found like the AWS tools find it. */
  awsRegion: string | undefined;
};

export function readEnvironment(variables: NodeJS.ProcessEnv = process.env): Environment {
  const data = parseVariables(environmentSchema, variables);
  const { SEKISHO_PORT: port, SEKISHO_EXECUTION_PORT: executionPort, SEKISHO_METRICS_PORT: metricsPort } = data;
  const { SEKISHO_LOG_LEVEL: logLevel, SEKISHO_LOG_DEBUG_RATIO: debugRatio } = data;
  const { AWS_REGION: awsRegion = data.AWS_DEFAULT_REGION } = data;
  const showAgentErrors = data.SEKISHO_SHOW_AGENT_ERRORS === "1";
  return { port, executionPort, metricsPort, logLevel, debugRatio, showAgentErrors, awsRegion };
}

/** An empty variable counts as unset. Throws a ConfigError that lists all problems. */
export function parseVariables<T extends z.ZodType>(schema: T, variables: NodeJS.ProcessEnv): z.infer<T> {
  const set = Object.fromEntries(Object.entries(variables).filter(([, value]) => value !== ""));
  const { success, data, error } = schema.safeParse(set);
  if (success) return data;
  const problems = error.issues.map(({ path, message }) => `${path.join(".")}: ${message}`);
  throw new ConfigError("The environment", problems);
}

// The input of the app that the CDK command line runs: the context of `-c NAME=VALUE`, and the output directory.

export function readCdkEnvironment(variables: NodeJS.ProcessEnv = process.env): {
  context: Record<string, unknown>;
  outdir: string;
} {
  return { context: JSON.parse(variables.CDK_CONTEXT_JSON || "{}"), outdir: variables.CDK_OUTDIR || "cdk.out" };
}
