/** Reports a step to the log, the metrics and the local page. */

import type { LogFields } from "@sekisho/runtime/log.ts";
import {
  noMetrics,
  noSpans,
  readTraceId,
  type Spans,
} from "@sekisho/runtime/telemetry/telemetry.ts";
import type { Task } from "../../task/task.ts";
import { countStep, giveUpReason } from "./metrics.ts";
import type { Report, Step, StepOptions } from "./step.ts";

/** Reports a step at once under a lease, and otherwise after the next write. */
export function reportClaimed(options: StepOptions, step: Step, operation: string): Step {
  const { task, effects, event, previousTask, record, pendingReports } = step;
  const report = { task, effects, event, previousTask, operation };
  if (record === undefined) return { ...step, pendingReports: [...pendingReports, report] };
  reportStep(options, report);
  return step;
}

export function reportUnreported(options: StepOptions, { pendingReports }: Step): void {
  for (const report of pendingReports) reportStep(options, report);
}

/** Logs and counts a step. */
export function reportStep(options: StepOptions, report: Report): void {
  const { task, effects, event, operation } = report;
  const { log, telemetry, observe } = options;
  const reason = giveUpReason(report);
  if (reason !== undefined)
    log.error("answer_not_delivered", { ...idsOf(task), operation, reason });
  log.info("task_step", {
    ...idsOf(task),
    event: event.type,
    state: task.state,
    effect: effects.map((effect) => effect.type).join(","),
    ...(event.type === "call_failed" ? { reason: event.error.reason } : {}),
    ...(event.type === "slack_failed" ? { reason: event.kind } : {}),
  });
  observe?.({ requestId: task.id, event, task, effects });
  countStep({ ...report, metrics: telemetry?.metrics ?? noMetrics });
}

export function spansOf({ telemetry }: StepOptions): Spans {
  return telemetry?.spans ?? noSpans;
}

export function idsOf({ id, call, trace }: Task): LogFields {
  return { request_id: id, task_id: call?.taskId, trace_id: readTraceId(trace) };
}
