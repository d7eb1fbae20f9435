/** What the environment says beside the configuration file: ports, the log level. All problems at once. */
import * as z from "zod";
import { ConfigError } from "./load.ts";

const portSchema = z
  .string()
  .regex(/^\d{1,5}$/, "a port number")
  .transform(Number)
  .refine((port) => port <= 65_535, "a port number up to 65535");

/** Of every entry that writes log lines. */
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
  /** Undefined where the Verification zone shows no metrics. */
  metricsPort: number | undefined;
  logLevel: "debug" | "info" | "warn" | "error" | undefined;
  debugRatio: number | undefined;
  /** Whoever writes an agent reads what it threw. */
  showAgentErrors: boolean;
  /** As the AWS tools understand it. */
  awsRegion: string | undefined;
};

export function readEnvironment(variables: NodeJS.ProcessEnv = process.env): Environment {
  const set = Object.fromEntries(Object.entries(variables).filter(([, value]) => value !== ""));
  const parsed = environmentSchema.safeParse(set);
  if (!parsed.success) {
    const problems = parsed.error.issues.map(({ path, message }) => `${path.join(".")}: ${message}`);
    throw new ConfigError("The environment", problems);
  }
  const { SEKISHO_PORT: port, SEKISHO_EXECUTION_PORT: executionPort, SEKISHO_METRICS_PORT: metricsPort } = parsed.data;
  const { SEKISHO_LOG_LEVEL: logLevel, SEKISHO_LOG_DEBUG_RATIO: debugRatio } = parsed.data;
  const { AWS_REGION: awsRegion = parsed.data.AWS_DEFAULT_REGION } = parsed.data;
  const showAgentErrors = parsed.data.SEKISHO_SHOW_AGENT_ERRORS === "1";
  return { port, executionPort, metricsPort, logLevel, debugRatio, showAgentErrors, awsRegion };
}

// What the CDK command line tells the app that it runs: the context of `-c NAME=VALUE`, and where the assembly goes.

export function readCdkEnvironment(variables: NodeJS.ProcessEnv = process.env): {
  context: Record<string, unknown>;
  outdir: string;
} {
  return { context: JSON.parse(variables.CDK_CONTEXT_JSON || "{}"), outdir: variables.CDK_OUTDIR || "cdk.out" };
}
