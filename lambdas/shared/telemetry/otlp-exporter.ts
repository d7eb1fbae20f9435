/**
 * Sends finished spans to a collector over OTLP (https://opentelemetry.io/docs/specs/otlp/#otlphttp). What cannot be sent is dropped and
 * said in the log, and nobody waits for it.
 */

import { setTimeout as wait } from "node:timers/promises";
import { JsonTraceSerializer } from "@opentelemetry/otlp-transformer";
import type { SpanExporter } from "@opentelemetry/sdk-trace";
import { abortable, parseRetryAfter } from "../async/waiting.ts";
import { readResponseBody } from "../http/read-body.ts";
import type { Log } from "../log.ts";
import { errorKind } from "./error-kind.ts";
import type { OtlpTarget } from "./otlp-target.ts";

type Batch = Parameters<SpanExporter["export"]>[0];

/** Who did not answer is not asked again for so long: a dead collector would cost each invocation its time-out. */
const pauseMs = 10_000;
const warnEveryMs = 60_000;

/** `settled` resolves when nothing is on its way. */
export function createOtlpExporter({
  post,
  timeoutMs,
  log,
  now = Date.now,
}: {
  post: OtlpPost;
  timeoutMs: number;
  log: Log;
  now?: () => number;
}): SpanExporter & { settled(): Promise<void> } {
  const underWay = new Set<Promise<unknown>>();
  let pausedUntilMs = Number.NEGATIVE_INFINITY;
  let mutedUntilMs = Number.NEGATIVE_INFINITY;
  let dropped = 0;

  function drop(count: number, why: { status?: number; cause_kind?: string }): void {
    dropped += count;
    if (now() < mutedUntilMs) return;
    log.warn("spans_not_sent", { ...why, count: dropped });
    mutedUntilMs = now() + warnEveryMs;
    dropped = 0;
  }

  function handlePostResult(posted: OtlpPostResult, count: number): boolean {
    if ("failed" in posted) {
      pausedUntilMs = now() + pauseMs;
      drop(count, { cause_kind: posted.failed });
      return false;
    }
    const { status, rejected } = posted;
    if (status < 200 || status > 299) {
      if (status === 429 || status >= 500) pausedUntilMs = now() + pauseMs;
      drop(count, { status });
      return false;
    }
    if (rejected > 0) drop(rejected, { status });
    return true;
  }

  async function send(spans: Batch): Promise<boolean> {
    if (now() < pausedUntilMs) {
      drop(spans.length, { cause_kind: "paused" });
      return false;
    }
    const body = JsonTraceSerializer.serializeRequest(spans);
    if (body === undefined) return true;
    return handlePostResult(await post({ body, signal: AbortSignal.timeout(timeoutMs) }), spans.length);
  }

  return {
    export(spans, done) {
      const sending = send(spans).then(
        (isSent) => done({ code: isSent ? 0 : 1 }),
        () => done({ code: 1 }),
      );
      underWay.add(sending);
      void sending.finally(() => underWay.delete(sending));
    },
    async settled() {
      await Promise.all(underWay);
    },
    async shutdown() {
      await Promise.all(underWay);
    },
  };
}

/** `rejected`: spans that it did not take although it answered that all is well. */
type OtlpPostResult = { status: number; rejected: number } | { failed: string };

type OtlpPost = (request: { body: Uint8Array; signal: AbortSignal }) => Promise<OtlpPostResult>;

const repeatableStatuses = [429, 502, 503, 504];
/** Whoever wants to be left alone for longer is. */
const maxDelayMs = 1000;
const defaultDelayMs = 200;
const maxAnswerBytes = 64 * 1024;

/**
 * Never rejects. Repeated once, where the answer allows it or where there was none: a kept connection is dead after a
 * function has slept. No redirect is followed: the headers are for nobody else.
 */
export function createOtlpPost({
  target,
  now = Date.now,
  sleep = (ms, signal) => wait(ms, undefined, { signal }),
}: {
  target: OtlpTarget;
  now?: () => number;
  sleep?: (ms: number, signal: AbortSignal) => Promise<void>;
}): OtlpPost {
  async function once({ body, signal }: { body: Uint8Array; signal: AbortSignal }): Promise<OtlpAnswer> {
    // A secret's reader knows no signal.
    const headers = await abortable({ promise: target.headersOf(body), signal });
    // A signed Host goes with the address, and fetch writes it itself.
    const { host: _host, ...sent } = headers;
    const response = await fetch(target.url, { method: "POST", headers: sent, body, signal, redirect: "manual" });
    const answer = await readResponseBody({ response, maxBytes: maxAnswerBytes });
    const header = response.headers.get("retry-after") ?? undefined;
    if (response.status === 401 || response.status === 403) target.forget();
    return {
      status: response.status,
      rejected: response.ok && answer !== "too_large" ? rejectedSpans(answer.toString()) : 0,
      retryAfterMs: parseRetryAfter({ header, nowMs: now() }),
    };
  }

  return async (request) => {
    let last: OtlpPostResult = { failed: "timeout" };
    for (let attempt = 0; attempt < 2 && !request.signal.aborted; attempt++) {
      try {
        const { status, rejected, retryAfterMs = defaultDelayMs } = await once(request);
        last = { status, rejected };
        if (!repeatableStatuses.includes(status) || retryAfterMs > maxDelayMs) return last;
        if (attempt === 0) await sleep(retryAfterMs, request.signal).catch(() => {});
      } catch (thrown) {
        // What fetch hides behind its TypeError says more.
        const cause = Object(thrown).cause ?? thrown;
        last = { failed: request.signal.aborted ? "timeout" : errorKind(cause) };
      }
    }
    return last;
  };
}

type OtlpAnswer = { status: number; rejected: number; retryAfterMs: number | undefined };

/** int64 is a string in Protobuf's JSON, and a number in that of some collectors. */
function rejectedSpans(text: string): number {
  try {
    const count = Number(Object(Object(JSON.parse(text)).partialSuccess).rejectedSpans ?? 0);
    return Number.isSafeInteger(count) && count > 0 ? count : 0;
  } catch {
    return 0;
  }
}
