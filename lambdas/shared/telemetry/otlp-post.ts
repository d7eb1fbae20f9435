/** One OTLP request over HTTP (https://opentelemetry.io/docs/specs/otlp/#otlphttp), and what became of it. */

import { setTimeout as wait } from "node:timers/promises";
import { abortable } from "../async/abortable.ts";
import { parseRetryAfter } from "../async/retry-delay.ts";
import { readResponseBody } from "../http/read-body.ts";
import { errorKind } from "./error-kind.ts";
import type { OtlpTarget } from "./otlp-target.ts";

/** `rejected`: spans that it did not take although it answered that all is well. */
export type Posted = { status: number; rejected: number } | { failed: string };

export type OtlpPost = (request: { body: Uint8Array; signal: AbortSignal }) => Promise<Posted>;

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
  async function once({ body, signal }: { body: Uint8Array; signal: AbortSignal }): Promise<Answered> {
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
    let last: Posted = { failed: "timeout" };
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

type Answered = { status: number; rejected: number; retryAfterMs: number | undefined };

/** int64 is a string in Protobuf's JSON, and a number in that of some collectors. */
function rejectedSpans(text: string): number {
  try {
    const count = Number(Object(Object(JSON.parse(text)).partialSuccess).rejectedSpans ?? 0);
    return Number.isSafeInteger(count) && count > 0 ? count : 0;
  } catch {
    return 0;
  }
}
