/** The configuration of one stage on AWS: destinations with their addresses, and secrets as names in Secrets Manager. */
import { isLocalOnly, isOwnExecution, ownAudience, readHostAgent } from "./destination-address.ts";
import type { Destination } from "./destination-schema.ts";
import type { Config } from "./schema.ts";
import type { ExecutionKind, Stage } from "./stage-schema.ts";
import type { SecretReference } from "./values.ts";

/** Lambda ends a function after 15 minutes. The last minute is for storing the outcome. */
export const maxLambdaTaskMs = 14 * 60_000;
const defaultTaskMs = 8 * 3600_000;
/** The time to start a session's machine and to store the outcome. Longer than the host's own margin, so that a new session accepts the task. */
const lifetimeMarginMs = 120_000;

/** The address of a stage's Execution zone, which is known only when it is deployed. */
export type ExecutionAddress =
  | {
      transport: "agentcore";
      runtimeArn: string;
      qualifier: string;
      stopAfterResult: boolean;
      idleSeconds: number;
    }
  | {
      transport: "https";
      url: string;
      region: string;
      functionArn: string;
      /** The limit for one worker. More calls would use up the account's concurrency without a free agent. */
      sendsAtOnce?: number | undefined;
    };

/** The longest time for a task on this platform. `kind` is absent on one machine. */
export function resolveMaxTaskMs(request: {
  config: Pick<Config, "execution">;
  kind?: ExecutionKind;
}): number {
  const { config, kind } = request;
  return config.execution.maxTaskMs ?? (kind === "lambda" ? maxLambdaTaskMs : defaultTaskMs);
}

/** The longest task that fits into the life of a new AgentCore session. At least a minute, because a host needs that. */
export function computeMaxTaskMs(maxLifetimeMs: number): number {
  return Math.max(60_000, maxLifetimeMs - lifetimeMarginMs);
}

/** True if the Function URL of a stage serves A2A. It must know its address. */
export function isA2aEndpoint({
  config,
  kind,
}: {
  config: Pick<Config, "execution">;
  kind: ExecutionKind;
}): boolean {
  return kind === "lambda" && config.execution.a2a.url !== undefined;
}

/** The configuration for the functions of a stage. Each `{ env }` becomes the secret `sekisho/STAGE/NAME`; the stages are left out. */
export function createStageConfig({
  config,
  stageName,
}: {
  config: Config;
  stageName: string;
}): Config {
  const { stages: _stages, $schema: _schema, ...sharedConfig } = config;
  const destinations = Object.entries(config.destinations).filter(
    ([, destination]) => !isLocalOnly(destination),
  );
  return withManagedSecrets(
    { ...sharedConfig, destinations: Object.fromEntries(destinations), stages: {} },
    stageName,
  );
}

export function formatManagedSecretName({
  stageName,
  env,
}: {
  stageName: string;
  env: string;
}): string {
  return `sekisho/${stageName}/${env}`;
}

/** Fills in the address of the deployed Execution zone. */
export function withExecutionAddress(request: {
  config: Config;
  address: ExecutionAddress | undefined;
}): Config {
  const { config, address } = request;
  if (address === undefined) return config;
  const destinations = Object.entries(config.destinations).map(
    ([name, destination]) =>
      [
        name,
        isOwnExecution(destination) ? applyAddress(destination, address) : destination,
      ] as const,
  );
  return { ...config, destinations: Object.fromEntries(destinations) };
}

function applyAddress(destination: Destination, address: ExecutionAddress): Destination {
  const {
    deadlineMs,
    concurrency,
    longPollMs,
    dialect,
    omitFields,
    forwardBotToken,
    maxResponseBytes,
    questions,
  } = destination;
  const {
    callTimeoutMs,
    sendsAtOnce = address.transport === "https" ? address.sendsAtOnce : undefined,
  } = destination;
  const agent = readHostAgent(destination);
  const { asker } = destination;
  const common = {
    ...(callTimeoutMs !== undefined && { callTimeoutMs }),
    ...(sendsAtOnce !== undefined && { sendsAtOnce }),
    ...(agent !== undefined && { agent }),
    ...(asker !== undefined && { asker: { audience: ownAudience, ...asker } }),
    ...{
      deadlineMs,
      concurrency,
      longPollMs,
      dialect,
      omitFields,
      forwardBotToken,
      maxResponseBytes,
      questions,
    },
    idempotent: true,
  };
  if (address.transport === "agentcore") return { ...common, ...address };
  const { url, region, functionArn } = address;
  return {
    ...common,
    transport: "https",
    url,
    authorizer: { type: "sigv4", service: "lambda", region, functionArn },
  };
}

/** The fields of agents that hold members of any name, and no secrets. */
const plainFields: Readonly<Record<string, readonly string[]>> = {
  http: ["request", "resume"],
  responses: ["headers"],
};

function withManagedSecrets<T>(value: T, stageName: string): T {
  if (Array.isArray(value)) return value.map((entry) => withManagedSecrets(entry, stageName)) as T;
  if (typeof value !== "object" || value === null) return value;
  if (isEnvReference(value))
    return { secretsManager: formatManagedSecretName({ stageName, env: value.env }) } as T;
  const type = "type" in value ? String(value.type) : "";
  const ownPlainFields = Object.hasOwn(plainFields, type) ? plainFields[type] : undefined;
  return Object.fromEntries(
    Object.entries(value).map(([key, entry]) => [
      key,
      ownPlainFields?.includes(key) ? entry : withManagedSecrets(entry, stageName),
    ]),
  ) as T;
}

/** An agent may be named env, too; its value has not the form of a variable's name. */
function isEnvReference(value: object): value is Extract<SecretReference, { env: string }> {
  const isVariable = "env" in value && /^[A-Z][A-Z0-9_]*$/.test(String(value.env));
  return isVariable && Object.keys(value).length === 1;
}

/** The account and region of a stage's Execution zone; undefined if none is deployed. */
export function findExecutionTarget(stage: Stage): { account: string; region: string } | undefined {
  if (stage.execution.kind === "external") return undefined;
  const { account = stage.verification.account, region = stage.verification.region } =
    stage.execution;
  return { account, region };
}
