/** Sends finished spans to a collector. What cannot be sent is dropped and said in the log, and nobody waits for it. */
import { JsonTraceSerializer } from "@opentelemetry/otlp-transformer";
import type { SpanExporter } from "@opentelemetry/sdk-trace";
import type { Log } from "../log.ts";
import type { OtlpPost, Posted } from "./otlp-post.ts";

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

  function judge(posted: Posted, count: number): boolean {
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
    return judge(await post({ body, signal: AbortSignal.timeout(timeoutMs) }), spans.length);
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
