/**
 * How long calls to the Execution zone may take, and what follows for the worker on AWS. A worker renews its lease during a long call, so
 * neither the lease nor the time until another worker takes over from one that was killed grows with it.
 */
import { factsOf, isOwnExecution } from "./destination-address.ts";
import type { Destination } from "./destination-schema.ts";
import type { Config } from "./schema.ts";

/**
 * The default of `execution.syncBudgetMs`. A stage has few workers, and one that waits for a first call takes no other message, so the wait is
 * short. An answer that takes longer is pushed.
 */
export const defaultSyncBudgetMs = 1500;

/** The default on one machine, where a call that waits costs nothing and delays nobody. */
export const localSyncBudgetMs = 20_000;

type Limits = Pick<Config, "limits">;
type Destinations = Pick<Config, "destinations">;

/** `sendTimeoutMs` is for calls that send a task or a reply, and `callTimeoutMs` for all others, which only look or cancel. */
export function callTimes(
  { callTimeoutMs: sendTimeoutMs }: Pick<Destination, "callTimeoutMs">,
  { limits: { callTimeoutMs } }: Limits,
): { sendTimeoutMs: number; callTimeoutMs: number } {
  if (sendTimeoutMs === undefined) return { sendTimeoutMs: callTimeoutMs, callTimeoutMs };
  return { sendTimeoutMs, callTimeoutMs: Math.min(sendTimeoutMs, callTimeoutMs) };
}

/** How long polls wait at a host on the same machine, where nobody is billed for that. */
const localLongPollMs = 10_000;

export function resolveLongPollMs(destination: Destination, limits: Limits): number {
  if (destination.longPollMs !== "auto") return destination.longPollMs;
  if (!factsOf(destination).isLocal && !isOwnExecution(destination)) return 0;
  return Math.min(localLongPollMs, Math.floor(callTimes(destination, limits).callTimeoutMs / 2));
}

/**
 * Half of the time after which AgentCore ends a session without a call, so that polls keep it alive even where the host does not say
 * `HealthyBusy` as AgentCore wants it. Infinite for other destinations.
 */
export function resolveMaxPollGapMs(destination: Destination): number {
  return destination.transport === "agentcore"
    ? (destination.idleSeconds * 1000) / 2
    : Number.POSITIVE_INFINITY;
}

/** By how much the longest call exceeds `limits.callTimeoutMs`. A step may last longer by that. */
export function maxExtraMs({ destinations, limits }: Limits & Destinations): number {
  const sendTimeoutsMs = Object.values(destinations).map(
    (destination) => callTimes(destination, { limits }).sendTimeoutMs,
  );
  return Math.max(0, ...sendTimeoutsMs.map((ms) => ms - limits.callTimeoutMs));
}

/** A step ends within its lease. The calls to the store and the queue before and after it need this much more. */
const beyondLeaseSeconds = 15;

/** The function's time without long calls. AWS advises a visibility timeout of six times that. */
export function baseWorkerSeconds({ limits: { leaseMs } }: Limits): number {
  return Math.ceil(leaseMs / 1000) + beyondLeaseSeconds;
}

export function workerSeconds(config: Limits & Destinations): number {
  return baseWorkerSeconds(config) + Math.ceil(maxExtraMs(config) / 1000);
}

/** Lambda's limit for a function. */
const maxFunctionSeconds = 900;

/** The longest call in a stage. Lambda refuses a function whose time is longer than the visibility timeout of its queue. */
export function maxStageCallMs(config: Limits): number {
  const base = baseWorkerSeconds(config);
  return (
    config.limits.callTimeoutMs + 1000 * Math.max(0, Math.min(5 * base, maxFunctionSeconds - base))
  );
}
