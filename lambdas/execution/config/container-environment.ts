/** Reads the environment of the Execution zone's entry in a container. All problems at once, each with its variable. */
import { resolve } from "node:path";
import * as z from "zod";
import { logVariables } from "../../shared/config/environment.ts";
import { ConfigError } from "../../shared/config/load.ts";
import type { SecretReference } from "../../shared/config/values.ts";
import type { LogLevel } from "../../shared/log.ts";

const environmentSchema = z.object({
  PORT: z
    .string()
    .regex(/^\d{1,5}$/, "a port number")
    .transform(Number)
    .refine((port) => port <= 65_535, "a port number up to 65535")
    .default(8080),
  SEKISHO_HOSTNAME: z.string().default("0.0.0.0"),
  SEKISHO_STORE: z.string().default("execution.db"),
  SEKISHO_CONFIG_FILE: z.string().optional(),
  ...logVariables,
  AWS_REGION: z.string().optional(),
});

export type ContainerEnvironment = {
  hostname: string;
  /** As the platform sets it; 0 takes a free one. */
  port: number;
  /** The file of the task store. */
  store: string;
  /** Instead of the configuration that was bundled. */
  configFile: string | undefined;
  logLevel: LogLevel | undefined;
  debugRatio: number | undefined;
  /** Of a model of Amazon Bedrock; absent, the SDK looks for one itself. */
  region: string | undefined;
};

/** A relative path counts from the working directory. Throws a ConfigError. */
export function readContainerEnvironment(variables: NodeJS.ProcessEnv = process.env): ContainerEnvironment {
  const set = Object.fromEntries(Object.entries(variables).filter(([, value]) => value !== ""));
  const { success, data, error } = environmentSchema.safeParse(set);
  if (!success) {
    const problems = error.issues.map(({ path, message }) => `${path.join(".")}: ${message}`);
    throw new ConfigError("The environment", problems);
  }
  return {
    hostname: data.SEKISHO_HOSTNAME,
    port: data.PORT,
    store: resolve(data.SEKISHO_STORE),
    configFile: data.SEKISHO_CONFIG_FILE,
    logLevel: data.SEKISHO_LOG_LEVEL,
    debugRatio: data.SEKISHO_LOG_DEBUG_RATIO,
    region: data.AWS_REGION,
  };
}

/** In a container secrets are variables of its environment: what the platform's own store of secrets puts there. */
export async function readSecretVariable(reference: SecretReference): Promise<string> {
  const problem = problemOf(reference, process.env);
  if (problem !== undefined) throw new Error(problem);
  return ("env" in reference && process.env[reference.env]) || "";
}

/** Throws a ConfigError that names every secret that cannot be read, so that no task is the first to find out. */
export function requireSecretVariables({
  references,
  variables = process.env,
}: {
  references: readonly SecretReference[];
  variables?: NodeJS.ProcessEnv;
}): void {
  const problems = references.flatMap((reference) => problemOf(reference, variables) ?? []);
  if (problems.length > 0) throw new ConfigError("The environment", problems);
}

function problemOf(reference: SecretReference, variables: NodeJS.ProcessEnv): string | undefined {
  if ("secretsManager" in reference) {
    return `the secret ${reference.secretsManager} must be a variable here: refer to it as { "env": "NAME" }`;
  }
  return variables[reference.env] ? undefined : `${reference.env} is not set; the configuration refers to it`;
}
