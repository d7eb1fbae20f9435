/** The ingress over HTTP: one signed request of Slack becomes one message in the queue. */
import { type Log, silentLog } from "../../shared/log.ts";
import { type Metrics, noMetrics } from "../../shared/telemetry/metrics.ts";
import type { Trace } from "../../shared/trace.ts";
import type { KeptSecret } from "../kept-secret.ts";
import { authenticate } from "./authenticate.ts";
import type { HeaderPairs } from "./headers.ts";
import { parseBody } from "./http-body.ts";
import { createIntake, type IngressQueue } from "./intake.ts";

/** Slack's payloads are far smaller. */
export const defaultMaxBodyBytes = 1024 * 1024;

/** `body` is the raw bytes: a base64-encoded one is decoded by the caller, and to bytes. */
export type IngressRequest = { headers: HeaderPairs; body: Uint8Array };
export type IngressResponse = { status: number; headers: Record<string, string>; body: string };
export type Ingress = (request: IngressRequest) => Promise<IngressResponse>;

/**
 * 401 without a valid signature, 500 without a secret, 413 above `maxBodyBytes`. With a valid signature always 200,
 * since Slack may switch off a subscription that refuses; but 503 where the enqueue fails, so that Slack delivers an event again
 * and shows an error to whoever typed a command or pressed a button.
 * `X-Slack-Retry-Num` is not looked at: the first delivery may be the one that was lost.
 */
export function createIngress({
  signingSecret,
  queue,
  now = Date.now,
  newTrace,
  log = silentLog,
  metrics = noMetrics,
  maxBodyBytes = defaultMaxBodyBytes,
}: {
  signingSecret: KeptSecret;
  queue: IngressQueue;
  now?: () => number;
  newTrace?: () => Trace;
  log?: Log;
  metrics?: Metrics | undefined;
  maxBodyBytes?: number;
}): Ingress {
  const takeIn = createIntake({ queue, now, log, metrics, ...(newTrace === undefined ? {} : { newTrace }) });
  const refused = (reason: string, status: number) => {
    metrics.add("sekisho_requests_refused_total", { zone: "verification", reason });
    return respond(status);
  };
  return async ({ headers, body }) => {
    if (body.byteLength > maxBodyBytes) return refused("too_large", 413);
    const nowSeconds = Math.floor(now() / 1000);
    const verdict = await authenticate({ signingSecret, headers, body, nowSeconds, log });
    if (verdict !== "valid") {
      log.warn("request_refused", { reason: verdict, bytes: body.byteLength });
      return refused(verdict, verdict === "no_secret" ? 500 : 401);
    }
    const parsed = parseBody(body);
    if (parsed === undefined) {
      log.warn("event_dropped", { drop: "unknown_payload", bytes: body.byteLength });
      return refused("unknown_payload", 200);
    }
    if ("challenge" in parsed) return respond(200, parsed.challenge);
    return respond((await takeIn(parsed)) === "failed" ? 503 : 200);
  };
}

function respond(status: number, body = ""): IngressResponse {
  const type = body === "" ? {} : { "content-type": "text/plain; charset=utf-8", "x-content-type-options": "nosniff" };
  return { status, headers: { "cache-control": "no-store", ...type }, body };
}
