/** The timeline of one task with what the local run saw: more detail, and the messages on the wire. */
import type { ExecutionTask } from "@sekisho/execution/tasks/execution-task.ts";
import { redact } from "@sekisho/runtime/redact.ts";
import type { Task } from "@sekisho/verification/task/task.ts";
import { formatStepTitle } from "./event-text.ts";
import { type RecordedStep, zoneOfStep } from "./step-recorder.ts";
import { createTimeline, type TimelineStep } from "./timeline.ts";

/** `frame` is the message on the wire, with secrets redacted and texts replaced by their lengths. */
export type FramedStep = TimelineStep & {
  frame?: unknown;
  call?: string | undefined;
  stopped?: boolean | undefined;
};

type Sources = {
  task: Task;
  execution: ExecutionTask | undefined;
  /** May be of other tasks too. */
  steps: readonly RecordedStep[];
  nowMs: number;
};

/** In order of time. A recorded step replaces its entry of the task's history. */
export function createRecordedTimeline({ task, execution, steps, nowMs }: Sources): FramedStep[] {
  const recordedSteps = steps.filter(({ requestId }) => requestId === task.id);
  const history = task.history.filter((entry) => !isRecorded(entry, recordedSteps));
  return [
    ...recordedSteps.map(toFramedStep),
    ...createTimeline({ task: { ...task, history }, execution, nowMs }),
  ].sort((a, b) => a.atMs - b.atMs);
}

function toFramedStep(recordedStep: RecordedStep): FramedStep {
  const { atMs, kind, title, detail, call, failed, stopped } = recordedStep;
  const step: FramedStep = {
    atMs,
    zone: zoneOfStep[kind],
    title,
    detail: {},
    ...(call !== undefined && { call }),
    ...(failed === true && { failed }),
    ...(stopped === true && { stopped }),
  };
  const { next, status, deliveries } = Object(detail) as Record<string, unknown>;
  switch (kind) {
    case "request":
      return { ...step, frame: hideTexts(detail) };
    case "response":
      // Its title may quote the agent's progress.
      return {
        ...step,
        title: `response to ${title.replace(/:.*$/s, "")}`,
        frame: hideTexts(detail),
      };
    case "claim":
    case "decision":
      return Array.isArray(next) && next.length > 0
        ? { ...step, detail: { next: next.join(", ") } }
        : step;
    default: {
      const isRepeated = typeof deliveries === "number" && deliveries > 1;
      return {
        ...step,
        detail: {
          ...(typeof status === "number" && { status }),
          ...(isRepeated && { deliveries }),
        },
      };
    }
  }
}

/** A record is stamped before it is written, and the step is recorded after that. */
const sameWithinMs = 5000;

/** True if a step shows the same event as an entry of the task's history. The step has more detail. */
function isRecorded(
  { atMs, event, state }: Task["history"][number],
  steps: readonly RecordedStep[],
): boolean {
  return steps.some(
    (step) =>
      Object(Object(step.detail).event).type === event &&
      step.title.endsWith(formatStepTitle({ text: "", state })) &&
      Math.abs(step.atMs - atMs) <= sameWithinMs,
  );
}

/** Members whose values are chosen by programs, not written by people. */
const shownMembers = new Set([
  ...["jsonrpc", "id", "method", "status", "state", "reason", "failed", "kind", "version", "code"],
  ...[
    "task_id",
    "request_id",
    "correlation_id",
    "session_id",
    "contextId",
    "taskId",
    "messageId",
    "option_id",
  ],
  ...[
    "channel",
    "thread_ts",
    "team_id",
    "user_id",
    "ts",
    "role",
    "mimetype",
    "expires_at",
    "channel_kind",
    "current",
    "target",
  ],
]);
/** An id or a kind fits; a sentence does not. */
const shownPattern = /^[\w.:/+@-]{0,200}$/;

/** Replaces the texts of a JSON-RPC body by their lengths. Fails closed: an unknown member is a text. */
export function hideTexts(body: unknown): unknown {
  return hideIn({ name: "", value: redact(body) });
}

function hideIn({ name, value }: { name: string; value: unknown }): unknown {
  if (typeof value === "string") {
    return shownMembers.has(name) && shownPattern.test(value)
      ? value
      : `(${value.length} characters)`;
  }
  if (Array.isArray(value)) return value.map((member) => hideIn({ name: "", value: member }));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [key, hideIn({ name: key, value: member })]),
  );
}
