/** The configuration as one stage on AWS has it: destinations with their places, secrets as names of Secrets Manager. */
import { isOwnExecution } from "./destination-address.ts";
import type { Destination } from "./destination-schema.ts";
import type { Config } from "./schema.ts";
import type { ExecutionKind, Stage } from "./stage-schema.ts";
import type { SecretReference } from "./values.ts";

/** Lambda ends a function after 15 minutes; the last is for storing the outcome. */
export const maxLambdaTaskMs = 14 * 60_000;
const defaultTaskMs = 8 * 3600_000;
/** The start of a machine and of the process, and the storing of the outcome. More than the host itself keeps free. */
const lifetimeMarginMs = 120_000;

/** Where the Execution zone of a stage can be reached; known when it is deployed. */
export type ExecutionAddress =
  | { transport: "agentcore"; runtimeArn: string; qualifier: string; stopAfterResult: boolean }
  | {
      transport: "https";
      url: string;
      region: string;
      functionArn: string;
      /** By one worker: more calls would only take the account's concurrency, while no agent is free. */
      sendsAtOnce?: number | undefined;
    };

/** The longest that a task may take where the Execution zone of this configuration runs; `kind` is absent on one machine. */
export function resolveMaxTaskMs({
  config,
  kind,
}: {
  config: Pick<Config, "execution">;
  kind?: ExecutionKind;
}): number {
  return config.execution.maxTaskMs ?? (kind === "lambda" ? maxLambdaTaskMs : defaultTaskMs);
}

/** The longest task that fits into the life of a new AgentCore session. A minute at least: no shorter life is of use to a host. */
export function longestTaskMs(maxLifetimeMs: number): number {
  return Math.max(60_000, maxLifetimeMs - lifetimeMarginMs);
}

/** Whether a stage's own Execution zone is an A2A agent: it must be told its address, and AgentCore passes on nothing but calls. */
export function isA2aEndpoint({ config, kind }: { config: Pick<Config, "execution">; kind: ExecutionKind }): boolean {
  return kind === "lambda" && config.execution.a2a.url !== undefined;
}

/** What leads to the host of the local run in a way that a stage's own Execution zone cannot be reached. */
export function isLocalOnly(destination: Destination): boolean {
  return destination.transport === "in-process" || (destination.transport === "a2a" && isOwnExecution(destination));
}

/** What the functions of a stage are given: every `{ env }` has become the secret `sekisho/STAGE/NAME`; stages are left out. */
export function createStageConfig({ config, stageName }: { config: Config; stageName: string }): Config {
  const { stages: _stages, $schema: _schema, ...rest } = config;
  const destinations = Object.entries(config.destinations).filter(([, destination]) => !isLocalOnly(destination));
  return withManagedSecrets({ ...rest, destinations: Object.fromEntries(destinations), stages: {} }, stageName);
}

/** The secret's name in Secrets Manager. */
export function formatManagedSecretName({ stageName, env }: { stageName: string; env: string }): string {
  return `sekisho/${stageName}/${env}`;
}

/** Puts the deployed Execution zone's address where the configuration left it open. */
export function withExecutionAddress({
  config,
  address,
}: {
  config: Config;
  address: ExecutionAddress | undefined;
}): Config {
  if (address === undefined) return config;
  const destinations = Object.entries(config.destinations).map(
    ([name, destination]) =>
      [name, isOwnExecution(destination) ? applyAddress(destination, address) : destination] as const,
  );
  return { ...config, destinations: Object.fromEntries(destinations) };
}

function applyAddress(destination: Destination, address: ExecutionAddress): Destination {
  const { deadlineMs, concurrency, longPollMs, dialect, forwardBotToken, maxResponseBytes, questions } = destination;
  const { sendsAtOnce = address.transport === "https" ? address.sendsAtOnce : undefined } = destination;
  const common = {
    ...(sendsAtOnce !== undefined && { sendsAtOnce }),
    ...{ deadlineMs, concurrency, longPollMs, dialect, forwardBotToken, maxResponseBytes, questions },
    idempotent: true,
  };
  if (address.transport === "agentcore") return { ...common, ...address };
  const { url, region, functionArn } = address;
  return { ...common, transport: "https", url, authorizer: { type: "sigv4", service: "lambda", region, functionArn } };
}

function withManagedSecrets<T>(value: T, stageName: string): T {
  if (Array.isArray(value)) return value.map((entry) => withManagedSecrets(entry, stageName)) as T;
  if (typeof value !== "object" || value === null) return value;
  if (isEnvReference(value)) return { secretsManager: formatManagedSecretName({ stageName, env: value.env }) } as T;
  return Object.fromEntries(
    Object.entries(value).map(([key, entry]) => [key, withManagedSecrets(entry, stageName)]),
  ) as T;
}

function isEnvReference(value: object): value is Extract<SecretReference, { env: string }> {
  return "env" in value && typeof value.env === "string" && Object.keys(value).length === 1;
}

/** The place of a stage's Execution zone; undefined where none is deployed. */
export function findExecutionPlace(stage: Stage): { account: string; region: string } | undefined {
  if (stage.execution.kind === "external") return undefined;
  const { account = stage.verification.account, region = stage.verification.region } = stage.execution;
  return { account, region };
}
