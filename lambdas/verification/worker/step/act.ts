/** Runs the act of a step within the time of its lease, and decides by the event in which it ends. */

import { createDeadline } from "@sekisho/runtime/async/deadline.ts";
import type { Act } from "../../task/events.ts";
import { decide } from "./decide.ts";
import { isAct } from "./effects.ts";
import { withRenewedLease } from "./lease.ts";
import { reportClaimed, spansOf } from "./report.ts";
import { createDeliverySpan } from "./spans.ts";
import type { ActRequest, ActResult, Step, StepOptions } from "./step.ts";

/** Acts that may last longer than a lease. */
const longActs: ReadonlySet<Act["type"]> = new Set(["send", "answer"]);

export async function runAct(options: StepOptions, step: Step): Promise<Step> {
  const { now = Date.now } = options;
  const { task, record } = step;
  const act = step.effects.find(isAct);
  if (act === undefined) throw new Error("The step has no act to run.");
  const work = async (signal: AbortSignal) => {
    const request = { act, task, signal, storesWrites: true };
    return { request, ...(await callAct(options, request)) };
  };
  const ended =
    record !== undefined && longActs.has(act.type)
      ? await withRenewedLease({ ...options, record, signal: step.request.signal, work })
      : { result: await withinLease(options, step, work), record };
  const { request, event, writes } = ended.result;
  const move = decide(options, { task, event, atMs: now() });
  const unstoredAct = writes && { request, writes };
  return reportClaimed(options, { ...step, ...move, record: ended.record, unstoredAct }, act.type);
}

/** A delivery has a span of its own. */
function callAct(options: StepOptions, request: ActRequest): Promise<ActResult> {
  const { runAct: call } = options;
  if (call === undefined) throw new Error("A step without acts cannot run one.");
  if (request.act.type !== "deliver") return call(request);
  return spansOf(options).within(createDeliverySpan(request.task), async (span) => {
    const result = await call(request);
    if (result.event.type === "slack_failed") span.fail(result.event.kind);
    return result;
  });
}

/** Repeats the act whose writes are not stored with the record. This time it does them itself; some may be stored already. */
export async function repeatUnstored(options: StepOptions, step: Step): Promise<Step> {
  if (step.unstoredAct !== undefined)
    await options.runAct?.({ ...step.unstoredAct.request, storesWrites: false });
  return { ...step, unstoredAct: undefined };
}

/** Ends the work a tenth of the lease before its end, which leaves time for the wake-up and the record. */
export function withinLease<T>(
  { leaseMs, now = Date.now }: StepOptions,
  { record, request: { nowMs, signal } }: Step,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const endsAtMs = (record?.lease.untilMs ?? nowMs + leaseMs) - leaseMs / 10;
  const deadline = createDeadline({ timeoutMs: endsAtMs - now(), signal });
  return work(deadline.signal).finally(deadline.end);
}
