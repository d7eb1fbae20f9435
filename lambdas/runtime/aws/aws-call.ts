/** One signed call of AWS: retries, time limits and trace headers, whatever the protocol. */
import { withinDeadline } from "../async/deadline.ts";
import { abortable, parseRetryAfter } from "../async/waiting.ts";
import type { AwsDependencies } from "./credentials.ts";
import { readTraceHeaders, readUserAgent } from "./environment.ts";
import { AwsCallError, createRetries } from "./retry.ts";
import { type Answer, createSend } from "./send.ts";
import { createSigner } from "./signer.ts";

export type CallLimits = {
  signal?: AbortSignal | undefined;
  /** How long the service may wait before it answers, as in a long poll. It is added to the other limits. */
  waitMs?: number;
};

/** `timeoutMs` limits a call with all its attempts. */
export type AwsCallOptions = AwsDependencies & {
  /** The endpoint prefix and signing name, such as `sqs`. */
  service: string;
  timeoutMs: number;
  attemptTimeoutMs?: number;
  connectTimeoutMs?: number;
  maxAttempts?: number;
  /** The longest first pause before a retry. */
  retryBaseMs?: number;
  maxResponseBytes?: number;
  now?: () => number;
  random?: () => number;
};

/** The error that a protocol reads from a failed answer. The fields are those of an AwsCallError. */
export type Failure = { name: string; isTransient?: boolean; item?: unknown };

export type AwsCall = <T>(request: {
  headers: Record<string, string>;
  body: string;
  /** Returns undefined if the answer is none of a success. */
  parse: (answer: Answer) => { result: T } | undefined;
  explain: (answer: Answer) => Failure;
  limits?: CallLimits | undefined;
}) => Promise<T>;

/**
 * Rejects with an AwsCallError, with a `TimeoutError`, with the signal's reason, or as node:https does. Repeats a call that may have had an
 * effect, so the operation must tolerate that.
 */
export function createAwsCall(options: AwsCallOptions): AwsCall {
  const { service, region, credentials, endpointOf, timeoutMs, now = Date.now } = options;
  const {
    attemptTimeoutMs = 3000,
    connectTimeoutMs = 1000,
    maxResponseBytes: maxBytes = 1024 * 1024,
  } = options;
  const { maxAttempts, retryBaseMs: baseMs, random } = options;
  const url = endpointOf(service);
  const sign = createSigner({ service, region, credentials });
  const send = createSend(url);
  const userAgent = readUserAgent();
  const retries = createRetries({
    ...(maxAttempts !== undefined && { maxAttempts }),
    ...(baseMs !== undefined && { baseMs }),
    ...(random !== undefined && { random }),
  });

  return ({ headers: callHeaders, body, parse, explain, limits: { signal, waitMs = 0 } = {} }) => {
    const endsAtMs = performance.now() + timeoutMs + waitMs;
    const leftMs = () => endsAtMs - performance.now();
    const limitMs = (ms: number) => Math.max(0, Math.min(ms, leftMs()));

    async function attempt() {
      const headers = {
        ...callHeaders,
        "content-length": String(Buffer.byteLength(body)),
        "user-agent": userAgent,
        ...readTraceHeaders(),
      };
      // Some credentials come from another service or process, which may not answer.
      const signing = withinDeadline({
        work: sign({ method: "POST", url, headers, body, atMs: now() }),
        timeoutMs: limitMs(attemptTimeoutMs),
      });
      const signedHeaders = await (signal === undefined
        ? signing
        : abortable({ promise: signing, signal }));
      const timeoutMs = limitMs(attemptTimeoutMs + waitMs);
      const answer = await send({
        headers: signedHeaders,
        body,
        timeoutMs,
        connectTimeoutMs,
        maxBytes,
        signal,
      });
      const parsedAnswer = parse(answer);
      if (parsedAnswer !== undefined) return parsedAnswer.result;
      const failure = explain(answer);
      throw new AwsCallError({
        ...failure,
        status: answer.status,
        ...readRetryAfter(answer, now()),
      });
    }
    return retries.run({ attempt, leftMs, signal });
  };
}

function readRetryAfter({ headers }: Answer, nowMs: number): { retryAfterMs?: number } {
  const { "x-amz-retry-after": ms } = headers;
  const retryAfterMs =
    typeof ms === "string"
      ? Number(ms)
      : parseRetryAfter({ header: headers["retry-after"], nowMs });
  return retryAfterMs === undefined || Number.isNaN(retryAfterMs) ? {} : { retryAfterMs };
}
