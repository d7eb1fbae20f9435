/** Reads the environment of the Execution zone's entries on AWS. An error names the variable. */

import { readEnvironment } from "@sekisho/config/environment.ts";
import { type LogSettings, toLogSettings } from "@sekisho/config/log-settings.ts";
import { defaultAwsCredentials } from "@sekisho/runtime/aws/default-credentials.ts";
import {
  createEndpointResolver,
  readAwsEnvironment,
  requireVariable,
} from "@sekisho/runtime/aws/environment.ts";
import { parseUrl } from "@sekisho/runtime/untrusted-input.ts";

export function readFunctionUrlEnvironment(variables: NodeJS.ProcessEnv = process.env) {
  return {
    table: requireVariable(variables, "SEKISHO_TABLE"),
    /** Takes the tasks of the Verification zone, or of all callers if there is no other queue. */
    queueUrl: requireVariable(variables, "SEKISHO_QUEUE_URL"),
    /** Takes the tasks of A2A clients. Present only if the zone serves A2A. */
    clientsQueueUrl: variables.SEKISHO_CLIENTS_QUEUE_URL || undefined,
    /** ARNs of the roles that may call the Function URL, the Verification zone's first. */
    callers: readCallers(variables),
    logs: readLogSettings(variables),
    aws: readAwsEnvironment(variables),
  };
}

function readCallers(variables: NodeJS.ProcessEnv): readonly [string, ...string[]] {
  const [verification = "", ...others] = requireVariable(variables, "SEKISHO_CALLERS").split(" ");
  return [verification, ...others];
}

export function readExecutionWorkerEnvironment(variables: NodeJS.ProcessEnv = process.env) {
  return {
    ...readTaskEnvironment(variables),
    /** The worker's own queue, for repeated push notifications. Present only if the zone serves A2A. */
    queueUrl: variables.SEKISHO_QUEUE_URL || undefined,
    aws: readAwsEnvironment(variables),
  };
}

/** The platform provides the credentials of a runtime outside the environment. */
export function readAgentCoreEnvironment(variables: NodeJS.ProcessEnv = process.env) {
  const common = readTaskEnvironment(variables);
  const region = requireVariable(variables, "AWS_REGION");
  const aws = {
    region,
    credentials: defaultAwsCredentials(),
    endpointOf: createEndpointResolver({ region, variables }),
  };
  const { executionPort: port } = readEnvironment(variables);
  const maxLifetimeMs = 1000 * Number(requireVariable(variables, "SEKISHO_MAX_LIFETIME_SECONDS"));
  if (!Number.isSafeInteger(maxLifetimeMs) || maxLifetimeMs <= 0) {
    throw new Error(
      "The environment variable SEKISHO_MAX_LIFETIME_SECONDS must be a whole number of seconds.",
    );
  }
  return {
    ...common,
    maxLifetimeMs,
    aws,
    hostname: variables.SEKISHO_HOSTNAME || "0.0.0.0",
    port,
    runtimeUrl: readRuntimeUrl(variables),
  };
}

/** The address at which the platform takes calls, for the agent card. The platform sets it without the endpoint, which has the policies. */
function readRuntimeUrl(variables: NodeJS.ProcessEnv): string | undefined {
  const url = parseUrl(variables.AGENTCORE_RUNTIME_URL ?? "");
  if (url === null) return undefined;
  const { SEKISHO_RUNTIME_ENDPOINT: endpoint } = variables;
  if (endpoint) url.searchParams.set("qualifier", endpoint);
  return url.href;
}

function readTaskEnvironment(variables: NodeJS.ProcessEnv) {
  return {
    table: requireVariable(variables, "SEKISHO_TABLE"),
    /** The Verification zone's completion queue, which may be in another account and region. */
    completionsUrl: requireVariable(variables, "SEKISHO_COMPLETIONS_URL"),
    logs: readLogSettings(variables),
  };
}

function readLogSettings(variables: NodeJS.ProcessEnv): LogSettings {
  return toLogSettings({ environment: readEnvironment(variables) });
}
