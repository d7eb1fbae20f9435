/** What the environment tells the Execution zone's entries on AWS. An error names the variable that is missing or wrong. */

import type { AwsSurroundings } from "../../shared/aws/credentials.ts";
import { defaultAwsCredentials } from "../../shared/aws/default-credentials.ts";
import { endpointsOf, readAwsEnvironment, required } from "../../shared/config/aws-environment.ts";
import { readEnvironment } from "../../shared/config/environment.ts";
import { type LogSettings, logSettingsOf } from "../../shared/config/log-settings.ts";

type WorkerEnvironment = {
  table: string;
  /** The Verification zone's completion queue, perhaps of another account and region. */
  completionsUrl: string;
  logs: LogSettings;
  aws: AwsSurroundings;
};

export function readUrlEnvironment(variables: NodeJS.ProcessEnv = process.env): {
  table: string;
  queueUrl: string;
  logs: LogSettings;
  aws: AwsSurroundings;
} {
  const table = required(variables, "SEKISHO_TABLE");
  const queueUrl = required(variables, "SEKISHO_QUEUE_URL");
  return { table, queueUrl, logs: logsOf(variables), aws: readAwsEnvironment(variables) };
}

/** `queueUrl`: its own queue, where notices of tasks are tried again; there only where the zone serves A2A. */
export function readWorkerEnvironment(
  variables: NodeJS.ProcessEnv = process.env,
): WorkerEnvironment & { queueUrl: string | undefined } {
  const queueUrl = variables.SEKISHO_QUEUE_URL || undefined;
  return { ...readTaskEnvironment(variables), queueUrl, aws: readAwsEnvironment(variables) };
}

/** A runtime's credentials come from the platform, not from variables; everything listens where the platform looks for it. */
export function readAgentCoreEnvironment(
  variables: NodeJS.ProcessEnv = process.env,
): WorkerEnvironment & { hostname: string; port: number } {
  const common = readTaskEnvironment(variables);
  const region = required(variables, "AWS_REGION");
  const aws = { region, credentials: defaultAwsCredentials(), endpointOf: endpointsOf({ region, variables }) };
  const { executionPort: port } = readEnvironment(variables);
  return { ...common, aws, hostname: variables.SEKISHO_HOSTNAME || "0.0.0.0", port };
}

function readTaskEnvironment(variables: NodeJS.ProcessEnv): Omit<WorkerEnvironment, "aws"> {
  const table = required(variables, "SEKISHO_TABLE");
  const completionsUrl = required(variables, "SEKISHO_COMPLETIONS_URL");
  return { table, completionsUrl, logs: logsOf(variables) };
}

function logsOf(variables: NodeJS.ProcessEnv): LogSettings {
  return logSettingsOf({ environment: readEnvironment(variables) });
}
