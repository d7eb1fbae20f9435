/** Reads the environment of the ingress function. It uses no schema library, which would lengthen the cold start. */
import { readAwsEnvironment, requireVariable } from "@sekisho/runtime/aws/environment.ts";
import type { LogLevel } from "@sekisho/runtime/log.ts";

const logLevels: readonly string[] = ["debug", "info", "warn", "error"] satisfies LogLevel[];

/** Throws an error that names the missing or invalid variable. */
export function readIngressEnvironment(variables: NodeJS.ProcessEnv = process.env) {
  return {
    queueUrl: requireVariable(variables, "SEKISHO_QUEUE_URL"),
    /** The name or ARN of the signing secret in Secrets Manager. */
    signingSecret: requireVariable(variables, "SEKISHO_SIGNING_SECRET"),
    logs: {
      level: parseLogLevel(variables.SEKISHO_LOG_LEVEL || "info"),
      debugRatio: readRatio(variables, "SEKISHO_LOG_DEBUG_RATIO") ?? 0,
    },
    /** `slack.context.forwards`. */
    forwards: variables.SEKISHO_FORWARDS !== "false",
    /** The share of traces to keep. */
    sampleRatio: readRatio(variables, "SEKISHO_TRACE_RATIO") ?? 1,
    aws: readAwsEnvironment(variables),
  };
}

function parseLogLevel(text: string): LogLevel {
  if (logLevels.includes(text)) return text as LogLevel;
  throw new Error(
    `The environment variable SEKISHO_LOG_LEVEL must be one of ${logLevels.join(", ")}.`,
  );
}

function readRatio(variables: NodeJS.ProcessEnv, name: string): number | undefined {
  const text = variables[name];
  if (!text) return undefined;
  const ratio = Number(text);
  if (ratio >= 0 && ratio <= 1) return ratio;
  throw new Error(`The environment variable ${name} must be a number from 0 to 1.`);
}
