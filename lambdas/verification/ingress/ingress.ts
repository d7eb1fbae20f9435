/** The steps of the ingress: converts one signed request of Slack, or one payload of Socket Mode, to one message in the queue. */

import type { CachedSecret } from "@sekisho/runtime/async/cached-secret.ts";
import { withinDeadline } from "@sekisho/runtime/async/deadline.ts";
import { errorKind } from "@sekisho/runtime/error-kind.ts";
import { type Log, silentLog } from "@sekisho/runtime/log.ts";
import {
  createTrace,
  type Metrics,
  noMetrics,
  readTraceId,
  type Trace,
} from "@sekisho/runtime/telemetry/telemetry.ts";
import { encodeQueueMessage } from "../task/encode-message.ts";
import { authenticate, type HeaderPairs, type ReadBody } from "./authenticate.ts";
import { removeForwardsOfEvent } from "./forwards.ts";
import {
  type InterpretedPayload,
  interpretPayload,
  parseBody,
  type VerifiedPayload,
} from "./interpret-payload.ts";

/** Far larger than any payload of Slack. */
export const defaultMaxBodyBytes = 1024 * 1024;

/** `body` is the raw bytes. The caller decodes a base64-encoded body. */
export type IngressRequest = { headers: HeaderPairs; body: Uint8Array };
export type IngressResponse = { status: number; headers: Record<string, string>; body: string };
/** `body` is the bytes, or a function that reads them only after the headers were checked. */
export type Ingress = (request: {
  headers: HeaderPairs;
  body: Uint8Array | ReadBody;
  /** The peer's address. Absent on Lambda, where the API's access log has it. */
  sourceAddress?: string | undefined;
}) => Promise<IngressResponse>;

/**
 * Answers 500 without a signing secret, 401 without a valid signature, 413 above `maxBodyBytes`, and 503 if there is no memory for the
 * body. With a valid signature it answers 200, because Slack may disable a subscription that refuses events. The exception is 503 if the
 * enqueue fails, so that Slack delivers an event again, and shows an error to a person who typed a command or clicked a button.
 * `X-Slack-Retry-Num` is ignored, because the first delivery may be the one that was lost.
 */
export function createIngress({
  signingSecret,
  now = Date.now,
  log = silentLog,
  metrics = noMetrics,
  maxBodyBytes = defaultMaxBodyBytes,
  isDue = () => true,
  ...intake
}: IntakeOptions & {
  signingSecret: CachedSecret;
  maxBodyBytes?: number;
  /** Limits the log lines about refusals, by reason and address (`createMinuteLimiter`). */
  isDue?: (key: string) => boolean;
}): Ingress {
  const enqueue = createIntake({ ...intake, now, log, metrics });
  const refuse = (reason: string, status: number) => {
    metrics.add("sekisho_requests_refused_total", { zone: "verification", reason });
    return respond(status);
  };
  return async ({ headers, body: bodySource, sourceAddress }) => {
    if (typeof bodySource !== "function" && bodySource.byteLength > maxBodyBytes)
      return refuse("too_large", 413);
    const readBody = typeof bodySource === "function" ? bodySource : async () => bodySource;
    const nowSeconds = Math.floor(now() / 1000);
    const authenticated = await authenticate({ signingSecret, headers, readBody, nowSeconds, log });
    if ("refused" in authenticated) {
      const { refused: reason, bytes } = authenticated;
      if (isDue(`${reason} ${sourceAddress}`))
        log.warn("request_refused", { reason, bytes, source_address: sourceAddress });
      return refuse(reason, refusalStatuses[reason]);
    }
    const { body } = authenticated;
    const parsedBody = parseBody(body);
    if (parsedBody === undefined) {
      log.warn("event_dropped", { drop: "unknown_payload", bytes: body.byteLength });
      return refuse("unknown_payload", 200);
    }
    if ("challenge" in parsedBody) return respond(200, parsedBody.challenge);
    const intakeResult = await enqueue(parsedBody);
    if (typeof intakeResult === "object") return respondJson(intakeResult.reply);
    return respond(intakeResult === "failed" ? 503 : 200);
  };
}

const refusalStatuses = {
  no_secret: 500,
  unsigned: 401,
  stale: 401,
  mismatch: 401,
  too_large: 413,
  busy: 503,
};

function respond(status: number, body = ""): IngressResponse {
  const type =
    body === ""
      ? {}
      : { "content-type": "text/plain; charset=utf-8", "x-content-type-options": "nosniff" };
  return { status, headers: { "cache-control": "no-store", ...type }, body };
}

function respondJson(reply: object): IngressResponse {
  const headers = {
    "cache-control": "no-store",
    "content-type": "application/json; charset=utf-8",
  };
  return { status: 200, headers, body: JSON.stringify(reply) };
}

/** Below the 3 s after which Slack gives up. */
const enqueueTimeoutMs = 2000;

/** The part of a TaskQueue that the ingress needs. It never delays messages. */
export type IngressQueue = { send(request: { body: string; group?: string }): Promise<void> };

/**
 * After `failed`, the response must make Slack deliver the event again, or show the person an error. `reply` is what Slack must get with the
 * acknowledgement, because a modal was filled in wrongly.
 */
export type IntakeResult = "enqueued" | "dropped" | "failed" | { reply: object };
export type Intake = (payload: VerifiedPayload) => Promise<IntakeResult>;

type IntakeOptions = {
  queue: IngressQueue;
  /** False: forwarded messages are not read (`slack.context.forwards`). */
  forwards?: boolean;
  now?: () => number;
  newTrace?: () => Trace;
  log?: Log;
  metrics?: Metrics | undefined;
};

/** Creates the step that enqueues a verified payload as a message. It never rejects. */
export function createIntake({
  queue,
  forwards = true,
  now = Date.now,
  newTrace = createTrace,
  log = silentLog,
  metrics = noMetrics,
}: IntakeOptions): Intake {
  const interpretAndSend: Intake = async (payload) => {
    const verifiedPayload = forwards ? payload : removeForwardsOfEvent(payload);
    const interpretation = interpretPayload({ verified: verifiedPayload, nowMs: now(), newTrace });
    if ("drop" in interpretation) {
      const { drop } = interpretation;
      if (drop === "unknown_payload")
        log.warn("event_dropped", { drop, event: verifiedPayload.type });
      else log.debug("event_dropped", { drop, event: verifiedPayload.type });
      return "dropped";
    }
    if ("errors" in interpretation) {
      log.debug("event_dropped", { drop: "invalid_input" });
      return { reply: { response_action: "errors", errors: interpretation.errors } };
    }
    const fields = createLogFields(interpretation.message);
    try {
      const work = queue.send({
        body: encodeQueueMessage(interpretation.message),
        group: fields.team,
      });
      await withinDeadline({ work, timeoutMs: enqueueTimeoutMs });
    } catch (error) {
      log.error("enqueue_failed", { ...fields, cause_kind: errorKind(error) });
      return "failed";
    }
    log.info("message_enqueued", fields);
    return "enqueued";
  };
  return async (payload) => {
    const result = await interpretAndSend(payload);
    const countedResult = typeof result === "string" ? result : "dropped";
    metrics.add("sekisho_messages_total", { entry: payload.type, result: countedResult });
    return result;
  };
}

function createLogFields(message: Extract<InterpretedPayload, { message: unknown }>["message"]) {
  const isOfMessage = message.type === "ask" || message.type === "message_change";
  const {
    team,
    user,
    channel = undefined,
  } = isOfMessage ? message.message : { channel: undefined, ...message };
  const trace = isOfMessage ? { trace_id: readTraceId(message.trace) } : {};
  return { request_id: message.requestId, event: message.type, ...trace, team, channel, user };
}
