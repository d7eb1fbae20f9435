/**
 * Repeats calls of AWS as the SDK's retry mode `standard` does: which failures, and after which pauses
 * (https://docs.aws.amazon.com/sdkref/latest/guide/feature-retry-behavior.html). Without its quota of retries: three attempts are the limit.
 */
import { backoffMs } from "../async/waiting.ts";

/** AWS refused the call, or its answer was invalid. `name` is the service's error name, which contains no values. */
export class AwsCallError extends Error {
  readonly status: number;
  /** How long AWS wants to be left alone. */
  readonly retryAfterMs: number | undefined;
  /** The call may be repeated although the error itself does not say so. */
  readonly isTransient: boolean;
  readonly #item: unknown;

  constructor(options: {
    name: string;
    status: number;
    retryAfterMs?: number;
    isTransient?: boolean;
    item?: unknown;
  }) {
    const { name, status, retryAfterMs, isTransient = false, item } = options;
    super(`AWS answered ${name} (${status}).`);
    this.name = name;
    this.status = status;
    this.retryAfterMs = retryAfterMs;
    this.isTransient = isTransient;
    this.#item = item;
  }

  /** The stored item, where a conditional write of DynamoDB failed and asked for it. No log shows it. */
  get Item(): unknown {
    return this.#item;
  }
}

const throttlingNames: ReadonlySet<string> = new Set([
  ...[
    "BandwidthLimitExceeded",
    "EC2ThrottledException",
    "LimitExceededException",
    "PriorRequestNotComplete",
  ],
  ...["ProvisionedThroughputExceededException", "RequestLimitExceeded", "RequestThrottled"],
  ...[
    "RequestThrottledException",
    "SlowDown",
    "ThrottledException",
    "Throttling",
    "ThrottlingException",
  ],
  ...["TooManyRequestsException", "TransactionInProgressException"],
]);
/** The last one has the trait `retryable` in the model of DynamoDB. */
const transientNames: ReadonlySet<string> = new Set([
  ...[
    "TimeoutError",
    "RequestTimeout",
    "RequestTimeoutException",
    "ReplicatedWriteConflictException",
  ],
]);
const transientStatuses: ReadonlySet<number> = new Set([500, 502, 503, 504]);
const transientCodes: ReadonlySet<string> = new Set([
  ...[
    "ECONNRESET",
    "ECONNREFUSED",
    "EPIPE",
    "ETIMEDOUT",
    "EHOSTUNREACH",
    "ENETUNREACH",
    "ENOTFOUND",
    "EAI_AGAIN",
  ],
]);

type Kind = "throttling" | "transient";

/** Returns undefined if a repeated call would fail too. */
function retryKind(error: unknown): Kind | undefined {
  if (error instanceof AwsCallError) {
    const { name, status, isTransient } = error;
    if (status === 429 || throttlingNames.has(name)) return "throttling";
    return isTransient || transientStatuses.has(status) || transientNames.has(name)
      ? "transient"
      : undefined;
  }
  const { name, code }: { name?: unknown; code?: unknown } = Object(error);
  return transientNames.has(String(name)) || transientCodes.has(String(code))
    ? "transient"
    : undefined;
}

const throttlingBaseMs = 1000;
const maxPauseMs = 20_000;
/** AWS may ask for a pause that is longer than ours by this much. */
const maxExtraMs = 5000;

export type Retries = {
  /**
   * Rejects with the last failure. `leftMs` is the time that the call still has: a pause that is longer is not begun. A repeated call may
   * have had an effect before.
   */
  run<T>(request: {
    attempt: () => Promise<T>;
    leftMs: () => number;
    signal?: AbortSignal | undefined;
  }): Promise<T>;
};

/** `baseMs` is the longest first pause after a failure other than throttling. */
export function createRetries(
  options: { maxAttempts?: number; baseMs?: number; random?: () => number } = {},
): Retries {
  const { maxAttempts = 3, baseMs = 50, random = Math.random } = options;

  function pauseMs({
    kind,
    attempt,
    error,
  }: {
    kind: Kind;
    attempt: number;
    error: unknown;
  }): number {
    const ownMs = backoffMs({
      attempt,
      baseMs: kind === "throttling" ? throttlingBaseMs : baseMs,
      capMs: maxPauseMs,
      random,
    });
    const askedMs = error instanceof AwsCallError ? (error.retryAfterMs ?? 0) : 0;
    return Math.max(ownMs, Math.min(askedMs, ownMs + maxExtraMs));
  }

  return {
    async run({ attempt: act, leftMs, signal }) {
      for (let attempt = 0; ; attempt += 1) {
        try {
          return await act();
        } catch (error) {
          const kind = signal?.aborted ? undefined : retryKind(error);
          if (kind === undefined || attempt + 1 >= maxAttempts) throw error;
          const ms = pauseMs({ kind, attempt, error });
          if (ms >= leftMs()) throw error;
          await pause(ms, signal);
        }
      }
    },
  };
}

/** Rejects with the signal's reason as soon as it aborts. */
async function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  const abort = () => reject(signal?.reason);
  signal?.addEventListener("abort", abort, { once: true });
  try {
    await promise;
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", abort);
  }
}
