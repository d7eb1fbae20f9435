/** Reads the environment of the ingress on Lambda. It does so by hand, since all that it loads counts in its cold start. */
import type { AwsDependencies } from "../../shared/aws/credentials.ts";
import { readAwsEnvironment, requireVariable } from "../../shared/config/aws-environment.ts";
import type { LogSettings } from "../../shared/config/telemetry-schema.ts";
import type { LogLevel } from "../../shared/log.ts";

const logLevels: readonly string[] = ["debug", "info", "warn", "error"] satisfies LogLevel[];

export type IngressEnvironment = {
  queueUrl: string;
  /** The name or ARN of the signing secret in Secrets Manager. */
  signingSecret: string;
  logs: LogSettings;
  /** The share of traces that are kept. */
  sampleRatio: number;
  aws: AwsDependencies;
};

/** Throws an error that names the variable that is missing or wrong. */
export function readIngressEnvironment(variables: NodeJS.ProcessEnv = process.env): IngressEnvironment {
  return {
    queueUrl: requireVariable(variables, "SEKISHO_QUEUE_URL"),
    signingSecret: requireVariable(variables, "SEKISHO_SIGNING_SECRET"),
    logs: {
      level: logLevelOf(variables.SEKISHO_LOG_LEVEL || "info"),
      debugRatio: ratioOf(variables, "SEKISHO_LOG_DEBUG_RATIO") ?? 0,
    },
    sampleRatio: ratioOf(variables, "SEKISHO_TRACE_RATIO") ?? 1,
    aws: readAwsEnvironment(variables),
  };
}

function logLevelOf(text: string): LogLevel {
  if (logLevels.includes(text)) return text as LogLevel;
  throw new Error(`The environment variable SEKISHO_LOG_LEVEL must be one of ${logLevels.join(", ")}.`);
}

function ratioOf(variables: NodeJS.ProcessEnv, name: string): number | undefined {
  const text = variables[name];
  if (!text) return undefined;
  const ratio = Number(text);
  if (ratio >= 0 && ratio <= 1) return ratio;
  throw new Error(`The environment variable ${name} must be a number from 0 to 1.`);
}
