/** Reads the environment of the Execution zone's entry in a container. Reports all problems at once. */
import { resolve } from "node:path";
import { ConfigError } from "@sekisho/config/config-error.ts";
import { logVariables, parseVariables, portSchema } from "@sekisho/config/environment.ts";
import { proxyVariables } from "@sekisho/config/proxy-environment.ts";
import type { SecretReference } from "@sekisho/config/values.ts";
import * as z from "zod";

/** The variables with their meaning. */
export const containerVariables = {
  PORT: portSchema
    .prefault("8080")
    .describe("The port to listen on, which the platform sets. 0 selects a free port."),
  SEKISHO_HOSTNAME: z
    .string()
    .default("0.0.0.0")
    .describe(
      "The address to listen on. Beyond loopback the configuration must have an authenticator.",
    ),
  SEKISHO_STORE: z
    .string()
    .default("execution.db")
    .describe(
      "The sqlite file of tasks, on a local disk. A relative path starts at the working directory.",
    ),
  SEKISHO_CONFIG_FILE: z
    .string()
    .optional()
    .describe(
      "A configuration to use instead of config.json, with the same agent. Default: config.json.",
    ),
  ...logVariables,
  AWS_REGION: z
    .string()
    .optional()
    .describe("The region of a model of Amazon Bedrock. Default: the SDK finds it."),
  ...proxyVariables,
};

const environmentSchema = z.object(containerVariables);

export type ContainerEnvironment = ReturnType<typeof readContainerEnvironment>;

/** Relative paths start at the working directory. Throws a ConfigError. */
export function readContainerEnvironment(variables: NodeJS.ProcessEnv = process.env) {
  const data = parseVariables(environmentSchema, variables);
  return {
    hostname: data.SEKISHO_HOSTNAME,
    /** The platform sets it. 0 selects a free port. */
    port: data.PORT,
    /** The sqlite file of the task store. */
    store: resolve(data.SEKISHO_STORE),
    /** Replaces the bundled configuration. */
    configFile: data.SEKISHO_CONFIG_FILE,
    logLevel: data.SEKISHO_LOG_LEVEL,
    debugRatio: data.SEKISHO_LOG_DEBUG_RATIO,
    /** For a model of Amazon Bedrock. If undefined, the SDK finds the region. */
    region: data.AWS_REGION,
  };
}

/** In a container, secrets are environment variables, which the platform fills from its secret store. */
export async function readSecretVariable(reference: SecretReference): Promise<string> {
  const problem = findProblem(reference);
  if (problem !== undefined) throw new Error(problem);
  return ("env" in reference && process.env[reference.env]) || "";
}

/** Throws a ConfigError that names every missing secret, so that the start fails and not the first task. */
export function requireSecretVariables(references: readonly SecretReference[]): void {
  const problems = references.flatMap((reference) => findProblem(reference) ?? []);
  if (problems.length > 0) throw new ConfigError("The environment", problems);
}

function findProblem(reference: SecretReference): string | undefined {
  if ("secretsManager" in reference) {
    return `a container cannot read the secret ${reference.secretsManager} from Secrets Manager; set an environment variable and refer to it as { "env": "NAME" }`;
  }
  return process.env[reference.env]
    ? undefined
    : `${reference.env} is not set, but the configuration refers to it`;
}
