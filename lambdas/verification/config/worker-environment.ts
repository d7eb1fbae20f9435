/**
 * Reads the environment of the worker and of the handler of dead letters on Lambda. An error names the variable that is missing or wrong.
 */
import * as z from "zod";
import type { AwsDependencies } from "../../shared/aws/credentials.ts";
import { readAwsEnvironment, requireVariable } from "../../shared/config/aws-environment.ts";
import { readEnvironment } from "../../shared/config/environment.ts";
import type { ExecutionAddress } from "../../shared/config/stage-config.ts";
import { type LogSettings, toLogSettings } from "../../shared/config/telemetry-schema.ts";

/** As the stack writes it, into the worker's environment and among its outputs. */
export const executionAddressSchema = z.discriminatedUnion("transport", [
  z.object({
    transport: z.literal("agentcore"),
    runtimeArn: z.string(),
    qualifier: z.string(),
    stopAfterResult: z.boolean(),
  }),
  z.object({
    transport: z.literal("https"),
    url: z.string(),
    region: z.string(),
    functionArn: z.string(),
    sendsAtOnce: z.int().optional(),
  }),
]) satisfies z.ZodType<ExecutionAddress>;

type DeadLetterEnvironment = {
  queueUrl: string;
  table: string;
  /** The name of the parameter of Systems Manager that holds the live settings. */
  routesParameter: string;
  logs: LogSettings;
  aws: AwsDependencies;
};

export type WorkerEnvironment = DeadLetterEnvironment & {
  slackApiUrl: string;
  /** Where files of messages are put for the Execution zone to read. */
  filesBucket: string;
  /** Where the names of the installations' secrets begin; undefined where there is no installation flow. */
  installationsPrefix: string | undefined;
  /** Undefined where the stage deploys no Execution zone. */
  executionAddress: ExecutionAddress | undefined;
};

export function readWorkerEnvironment(
  variables: NodeJS.ProcessEnv = process.env,
): WorkerEnvironment & { queueArn: string } {
  return {
    ...readCommon(variables),
    queueArn: requireVariable(variables, "SEKISHO_QUEUE_ARN"),
    slackApiUrl: requireVariable(variables, "SEKISHO_SLACK_API_URL"),
    installationsPrefix: variables.SEKISHO_INSTALLATIONS_PREFIX || undefined,
    filesBucket: requireVariable(variables, "SEKISHO_FILES_BUCKET"),
    executionAddress: addressOf(variables.SEKISHO_EXECUTION_ADDRESS),
  };
}

export function readDeadLetterEnvironment(
  variables: NodeJS.ProcessEnv = process.env,
): DeadLetterEnvironment & { archiveUrl: string } {
  return { ...readCommon(variables), archiveUrl: requireVariable(variables, "SEKISHO_DEAD_LETTERS_URL") };
}

function readCommon(variables: NodeJS.ProcessEnv): DeadLetterEnvironment {
  return {
    queueUrl: requireVariable(variables, "SEKISHO_QUEUE_URL"),
    table: requireVariable(variables, "SEKISHO_TABLE"),
    routesParameter: requireVariable(variables, "SEKISHO_ROUTES_PARAMETER"),
    logs: toLogSettings({ environment: readEnvironment(variables) }),
    aws: readAwsEnvironment(variables),
  };
}

function addressOf(text: string | undefined): ExecutionAddress | undefined {
  if (!text) return undefined;
  try {
    return executionAddressSchema.parse(JSON.parse(text));
  } catch (cause) {
    throw new Error("The environment variable SEKISHO_EXECUTION_ADDRESS is no address of an Execution zone.", {
      cause,
    });
  }
}
