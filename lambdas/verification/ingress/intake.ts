/** From a verified payload to the queue: what HTTP and Socket Mode share. It marks nothing as seen; the worker claims. */
import { type Log, silentLog } from "../../shared/log.ts";
import { type Metrics, noMetrics } from "../../shared/telemetry/metrics.ts";
import { newTrace as startTrace, type Trace, traceIdOf } from "../../shared/trace.ts";
import { withinDeadline } from "./deadline.ts";
import { type Understood, understand, type VerifiedPayload } from "./understand.ts";

/** Slack gives up after 3 s. */
const enqueueTimeoutMs = 2000;

/** A TaskQueue as far as the ingress needs one: it never delays. */
export type IngressQueue = { send(request: { body: string; group?: string }): Promise<void> };

/** `failed`: Slack is to deliver it again, or to tell the person that it did not work. */
export type TakenIn = "enqueued" | "dropped" | "failed";
export type Intake = (verified: VerifiedPayload) => Promise<TakenIn>;

/** Never rejects. */
export function createIntake({
  queue,
  now = Date.now,
  newTrace = startTrace,
  log = silentLog,
  metrics = noMetrics,
}: {
  queue: IngressQueue;
  now?: () => number;
  newTrace?: () => Trace;
  log?: Log;
  metrics?: Metrics | undefined;
}): Intake {
  const takeIn: Intake = async (verified) => {
    const understood = understand({ verified, nowMs: now(), newTrace });
    if ("drop" in understood) {
      const { drop } = understood;
      if (drop === "unknown_payload") log.warn("event_dropped", { drop, event: verified.type });
      else log.debug("event_dropped", { drop, event: verified.type });
      return "dropped";
    }
    const fields = fieldsOf(understood.message);
    try {
      const work = queue.send({ body: JSON.stringify(understood.message), group: fields.team });
      await withinDeadline({ work, timeoutMs: enqueueTimeoutMs });
    } catch (error) {
      log.error("enqueue_failed", { ...fields, cause_kind: error instanceof Error ? error.name : typeof error });
      return "failed";
    }
    log.info("message_enqueued", fields);
    return "enqueued";
  };
  return async (verified) => {
    const result = await takeIn(verified);
    metrics.add("sekisho_messages_total", { entry: verified.type, result });
    return result;
  };
}

function fieldsOf(message: Extract<Understood, { message: unknown }>["message"]) {
  const { team, channel, user } = message.type === "ask" ? message.message : message;
  const trace = message.type === "ask" ? { trace_id: traceIdOf(message.trace) } : {};
  return { request_id: message.requestId, event: message.type, ...trace, team, channel, user };
}
