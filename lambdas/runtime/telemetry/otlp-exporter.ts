/**
 * Sends finished spans to a collector over OTLP (https://opentelemetry.io/docs/specs/otlp/#otlphttp). Drops and logs what cannot be sent;
 * no request waits for it.
 */

import { setTimeout as wait } from "node:timers/promises";
import { JsonTraceSerializer } from "@opentelemetry/otlp-transformer";
import type { SpanExporter } from "@opentelemetry/sdk-trace";
import { abortable, parseRetryAfter } from "../async/waiting.ts";
import { errorKind } from "../error-kind.ts";
import { readResponseBody } from "../http/read-body.ts";
import type { Log } from "../log.ts";
import { parseJson } from "../untrusted-input.ts";
import type { OtlpTarget } from "./otlp-target.ts";

type Batch = Parameters<SpanExporter["export"]>[0];

/** The pause after a failed request. Otherwise an unreachable collector would cost every invocation its time-out. */
const pauseMs = 10_000;
const warnEveryMs = 60_000;

/** `settled` resolves when no request is under way. */
export function createOtlpExporter(options: {
  post: OtlpPost;
  timeoutMs: number;
  log: Log;
}): SpanExporter & { settled(): Promise<void> } {
  const { post, timeoutMs, log } = options;
  const underWay = new Set<Promise<unknown>>();
  let pausedUntilMs = Number.NEGATIVE_INFINITY;
  let mutedUntilMs = Number.NEGATIVE_INFINITY;
  let droppedCount = 0;

  function drop(count: number, why: { status?: number; cause_kind?: string }): void {
    droppedCount += count;
    if (Date.now() < mutedUntilMs) return;
    log.warn("spans_not_sent", { ...why, count: droppedCount });
    mutedUntilMs = Date.now() + warnEveryMs;
    droppedCount = 0;
  }

  function handlePostResult(postResult: OtlpPostResult, count: number): boolean {
    if ("failed" in postResult) {
      pausedUntilMs = Date.now() + pauseMs;
      drop(count, { cause_kind: postResult.failed });
      return false;
    }
    const { status, rejectedSpans } = postResult;
    if (status < 200 || status > 299) {
      if (status === 429 || status >= 500) pausedUntilMs = Date.now() + pauseMs;
      drop(count, { status });
      return false;
    }
    if (rejectedSpans > 0) drop(rejectedSpans, { status });
    return true;
  }

  async function send(spans: Batch): Promise<boolean> {
    if (Date.now() < pausedUntilMs) {
      drop(spans.length, { cause_kind: "paused" });
      return false;
    }
    const body = JsonTraceSerializer.serializeRequest(spans);
    if (body === undefined) return true;
    return handlePostResult(
      await post({ body, signal: AbortSignal.timeout(timeoutMs) }),
      spans.length,
    );
  }

  async function waitForPosts(): Promise<void> {
    await Promise.all(underWay);
  }

  return {
    export(spans, onDone) {
      const sending = send(spans).then(
        (isSent) => onDone({ code: isSent ? 0 : 1 }),
        () => onDone({ code: 1 }),
      );
      underWay.add(sending);
      void sending.finally(() => underWay.delete(sending));
    },
    settled: waitForPosts,
    shutdown: waitForPosts,
  };
}

/** `rejectedSpans` counts those that the collector refused in a successful answer. */
type OtlpPostResult = { status: number; rejectedSpans: number } | { failed: string };

type OtlpPost = (request: { body: Uint8Array; signal: AbortSignal }) => Promise<OtlpPostResult>;

const repeatableStatuses = [429, 502, 503, 504];
/** A longer Retry-After means no retry. */
const maxDelayMs = 1000;
const defaultDelayMs = 200;
const maxAnswerBytes = 64 * 1024;

/**
 * Never rejects. Tries twice if the answer allows it or if there was none, because a kept connection may be closed after a function was
 * frozen. Follows no redirect, because the headers are only for this target.
 */
export function createOtlpPost({ target }: { target: OtlpTarget }): OtlpPost {
  async function once({
    body,
    signal,
  }: {
    body: Uint8Array;
    signal: AbortSignal;
  }): Promise<OtlpAnswer> {
    // Reading a secret does not support the signal.
    const headers = await abortable({ promise: target.headersOf(body), signal });
    // fetch sets Host itself.
    const { host: _host, ...sentHeaders } = headers;
    const response = await fetch(target.url, {
      method: "POST",
      headers: sentHeaders,
      body,
      signal,
      redirect: "manual",
    });
    const answer = await readResponseBody({ response, maxBytes: maxAnswerBytes });
    const header = response.headers.get("retry-after") ?? undefined;
    if (response.status === 401 || response.status === 403) target.forget();
    return {
      status: response.status,
      rejectedSpans:
        response.ok && answer !== "too_large" ? readRejectedSpans(answer.toString()) : 0,
      retryAfterMs: parseRetryAfter({ header, nowMs: Date.now() }),
    };
  }

  return async (request) => {
    let last: OtlpPostResult = { failed: "timeout" };
    for (let attempt = 0; attempt < 2 && !request.signal.aborted; attempt++) {
      try {
        const { status, rejectedSpans, retryAfterMs = defaultDelayMs } = await once(request);
        last = { status, rejectedSpans };
        if (!repeatableStatuses.includes(status) || retryAfterMs > maxDelayMs) return last;
        if (attempt === 0)
          await wait(retryAfterMs, undefined, { signal: request.signal }).catch(() => {});
      } catch (error) {
        // The cause of fetch's TypeError says more.
        const cause = Object(error).cause ?? error;
        last = { failed: request.signal.aborted ? "timeout" : errorKind(cause) };
      }
    }
    return last;
  };
}

type OtlpAnswer = { status: number; rejectedSpans: number; retryAfterMs: number | undefined };

/** In Protobuf's JSON, int64 is a string. Some collectors send a number. */
function readRejectedSpans(text: string): number {
  const count = Number(Object(Object(parseJson(text)).partialSuccess).rejectedSpans ?? 0);
  return Number.isSafeInteger(count) && count > 0 ? count : 0;
}
