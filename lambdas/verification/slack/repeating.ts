/** Exchanges with Slack that are made again at once where that helps and does no harm; each failure is one line of the log. */
import { setTimeout as wait } from "node:timers/promises";
import type { Log } from "../../shared/log.ts";
import type { SpanStart } from "../../shared/telemetry/spans.ts";
import type { Telemetry } from "../../shared/telemetry/telemetry.ts";
import { retryDelayMs } from "./retry-policy.ts";
import { toSlackError } from "./to-slack-error.ts";

export type Repeating = <T>(request: {
  /** For the log. */
  method: string;
  requestId: string;
  /** Doing it twice is the same as doing it once. */
  repeatable: boolean;
  signal: AbortSignal;
  exchange: () => Promise<T>;
}) => Promise<T>;

/** What it gives rejects with a SlackError. `maxDelayMs`: whatever asks for a longer wait is left to the caller. */
export function createRepeating({
  log,
  telemetry: { metrics, spans },
  maxDelayMs,
  now = Date.now,
  sleep = (ms, signal) => wait(ms, undefined, { signal }),
  random = Math.random,
}: {
  log: Log;
  telemetry: Telemetry;
  maxDelayMs: number;
  now?: (() => number) | undefined;
  sleep?: ((ms: number, signal: AbortSignal) => Promise<void>) | undefined;
  random?: (() => number) | undefined;
}): Repeating {
  return async ({ method, requestId, repeatable, signal, exchange }) => {
    for (let attempt = 0; ; attempt++) {
      const startedAtMs = now();
      try {
        const answer = await spans.within(spanOf({ method, requestId, attempt }), exchange);
        metrics.add("sekisho_slack_calls_total", { method, result: "ok" });
        return answer;
      } catch (thrown) {
        const error = toSlackError(thrown);
        metrics.add("sekisho_slack_calls_total", { method, result: error.kind });
        const delayMs = retryDelayMs({ error, attempt, repeatable, maxDelayMs, random });
        const fields = { reason: error.kind, slack_error: error.slackError, attempt, delay_ms: delayMs };
        log.warn("slack_call_failed", { request_id: requestId, method, ...fields, duration_ms: now() - startedAtMs });
        if (delayMs === undefined) throw error;
        await sleep(delayMs, signal).catch(() => {});
        if (signal.aborted) throw error;
      }
    }
  };
}

/** Of whatever is under way: a step of a task, or the answer to a button. */
function spanOf({ method, requestId, attempt }: { method: string; requestId: string; attempt: number }): SpanStart {
  const attributes = { "rpc.method": method, "sekisho.request_id": requestId, "sekisho.attempt": attempt + 1 };
  return { name: `slack ${method}`, kind: "client", attributes: { "rpc.system.name": "slack", ...attributes } };
}
