/** The ingress: one signed request of Slack becomes one message in the queue. It marks nothing as seen; the worker claims. */

import { type Log, silentLog } from "../../shared/log.ts";
import { newTrace as startTrace, type Trace, traceIdOf } from "../../shared/trace.ts";
import type { KeptSecret } from "../kept-secret.ts";
import type { Ask, AskedMessage } from "../task/messages.ts";
import { authenticate } from "./authenticate.ts";
import { withinDeadline } from "./deadline.ts";
import { filterEvent } from "./filter.ts";
import type { HeaderPairs } from "./headers.ts";
import { parsePayload } from "./payload.ts";
import { requestIdOf } from "./request-id.ts";

/** Slack's payloads are far smaller. */
export const defaultMaxBodyBytes = 1024 * 1024;
/** Slack gives up after 3 s. */
const enqueueTimeoutMs = 2000;

/** A TaskQueue as far as the ingress needs one: it never delays. */
export type IngressQueue = { send(request: { body: string; group?: string }): Promise<void> };

/** `body` is the raw bytes: a base64-encoded one is decoded by the caller, and to bytes. */
export type IngressRequest = { headers: HeaderPairs; body: Uint8Array };
export type IngressResponse = { status: number; headers: Record<string, string>; body: string };
export type Ingress = (request: IngressRequest) => Promise<IngressResponse>;

/**
 * 401 without a valid signature, 500 without a secret, 413 above `maxBodyBytes`. With a valid signature always 200,
 * since Slack may switch off a subscription that refuses; but 503 where the enqueue fails, so that Slack delivers again.
 * `X-Slack-Retry-Num` is not looked at: the first delivery may be the one that was lost.
 */
export function createIngress({
  signingSecret,
  queue,
  now = Date.now,
  newTrace = startTrace,
  log = silentLog,
  maxBodyBytes = defaultMaxBodyBytes,
}: {
  signingSecret: KeptSecret;
  queue: IngressQueue;
  now?: () => number;
  newTrace?: () => Trace;
  log?: Log;
  maxBodyBytes?: number;
}): Ingress {
  async function enqueue(message: AskedMessage): Promise<IngressResponse> {
    const ask: Ask = {
      type: "ask",
      requestId: requestIdOf(message),
      receivedAtMs: now(),
      trace: newTrace(),
      message,
    };
    const { team, channel, user } = message;
    const fields = { request_id: ask.requestId, trace_id: traceIdOf(ask.trace), team, channel, user };
    try {
      const work = queue.send({ body: JSON.stringify(ask), group: team });
      await withinDeadline({ work, timeoutMs: enqueueTimeoutMs });
    } catch (error) {
      log.error("enqueue_failed", { ...fields, cause_kind: error instanceof Error ? error.name : typeof error });
      return respond(503);
    }
    log.info("message_enqueued", fields);
    return respond(200);
  }

  return async ({ headers, body }) => {
    if (body.byteLength > maxBodyBytes) return respond(413);
    const nowSeconds = Math.floor(now() / 1000);
    const verdict = await authenticate({ signingSecret, headers, body, nowSeconds, log });
    if (verdict !== "valid") {
      log.warn("request_refused", { reason: verdict, bytes: body.byteLength });
      return respond(verdict === "no_secret" ? 500 : 401);
    }
    const payload = parsePayload(body);
    if (payload === undefined) {
      log.warn("event_dropped", { drop: "unknown_payload", bytes: body.byteLength });
      return respond(200);
    }
    if (payload.type === "url_verification") return respond(200, payload.challenge);
    const filtered = filterEvent(payload);
    if ("asked" in filtered) return await enqueue(filtered.asked);
    log.debug("event_dropped", { drop: filtered.drop, team: payload.team_id });
    return respond(200);
  };
}

function respond(status: number, body = ""): IngressResponse {
  const type = body === "" ? {} : { "content-type": "text/plain; charset=utf-8", "x-content-type-options": "nosniff" };
  return { status, headers: { "cache-control": "no-store", ...type }, body };
}
