/** Reads the environments of the worker function and of the dead-letter function. */

import { defaultIdleSeconds } from "@sekisho/config/agentcore-session.ts";
import { readEnvironment } from "@sekisho/config/environment.ts";
import { toLogSettings } from "@sekisho/config/log-settings.ts";
import type { ExecutionAddress } from "@sekisho/config/stage-config.ts";
import { readAwsEnvironment, requireVariable } from "@sekisho/runtime/aws/environment.ts";
import * as z from "zod";

/** The stack writes this into the worker's environment and into its own outputs. */
export const executionAddressSchema = z.discriminatedUnion("transport", [
  z.object({
    transport: z.literal("agentcore"),
    runtimeArn: z.string(),
    qualifier: z.string(),
    stopAfterResult: z.boolean(),
    // Absent in a stage that version 1.0 deployed.
    idleSeconds: z.int().default(defaultIdleSeconds),
  }),
  z.object({
    transport: z.literal("https"),
    url: z.string(),
    region: z.string(),
    functionArn: z.string(),
    sendsAtOnce: z.int().optional(),
  }),
]) satisfies z.ZodType<ExecutionAddress>;

/** `keys` holds the ARNs of the keys by their ids in the configuration. */
const askerSchema = z.object({ clientId: z.string(), keys: z.record(z.string(), z.string()) });

export type WorkerEnvironment = ReturnType<typeof readWorkerEnvironment>;

/** Throws an error that names the missing or invalid variable. */
export function readWorkerEnvironment(variables: NodeJS.ProcessEnv = process.env) {
  return {
    ...readCommon(variables),
    queueArn: requireVariable(variables, "SEKISHO_QUEUE_ARN"),
    slackApiUrl: requireVariable(variables, "SEKISHO_SLACK_API_URL"),
    /** The prefix of the names of the secrets that hold installations. Undefined without an installation flow. */
    installationsPrefix: variables.SEKISHO_INSTALLATIONS_PREFIX || undefined,
    /** Holds the files of messages until the Execution zone reads them. */
    filesBucket: requireVariable(variables, "SEKISHO_FILES_BUCKET"),
    /** Undefined if no destination is told who asked. */
    asker: parseJsonVariable({
      schema: askerSchema,
      name: "SEKISHO_ASKER",
      text: variables.SEKISHO_ASKER,
      meaning: "the name of the zone and the ARNs of the asker's keys",
    }),
    /** Undefined if the stage deploys no Execution zone. */
    executionAddress: parseJsonVariable({
      schema: executionAddressSchema,
      name: "SEKISHO_EXECUTION_ADDRESS",
      text: variables.SEKISHO_EXECUTION_ADDRESS,
      meaning: "the address of an Execution zone",
    }),
  };
}

/** Throws an error that names the missing or invalid variable. */
export function readDeadLetterEnvironment(variables: NodeJS.ProcessEnv = process.env) {
  return {
    ...readCommon(variables),
    archiveUrl: requireVariable(variables, "SEKISHO_DEAD_LETTERS_URL"),
  };
}

function readCommon(variables: NodeJS.ProcessEnv) {
  return {
    queueUrl: requireVariable(variables, "SEKISHO_QUEUE_URL"),
    table: requireVariable(variables, "SEKISHO_TABLE"),
    /** The name of the parameter of Systems Manager that held the live settings before the table did. */
    formerSettings: requireVariable(variables, "SEKISHO_ROUTES_PARAMETER"),
    logs: toLogSettings({ environment: readEnvironment(variables) }),
    aws: readAwsEnvironment(variables),
  };
}

function parseJsonVariable<T>(variable: {
  schema: z.ZodType<T>;
  name: string;
  text: string | undefined;
  meaning: string;
}): T | undefined {
  const { schema, name, text, meaning } = variable;
  if (!text) return undefined;
  try {
    return schema.parse(JSON.parse(text));
  } catch (cause) {
    throw new Error(`The environment variable ${name} must be ${meaning}.`, { cause });
  }
}
