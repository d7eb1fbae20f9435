/** The timeline of one task through both zones, from what is known of it: records, log lines, observations of the local run. */
import type { ExecutionTask } from "../../../lambdas/execution/tasks/execution-task.ts";
import { readTraceId } from "../../../lambdas/shared/telemetry/telemetry.ts";
import type { Task } from "../../../lambdas/verification/task/task.ts";
import type { RecordedStep } from "../../local/recorder/step-recorder.ts";
import { describeOutcome } from "../tasks/text.ts";
import { formatStepTitle } from "./event-text.ts";
import { type LogLine, listLineSteps, selectLines } from "./log-lines.ts";
import type { PictureStep } from "./picture-step.ts";
import { listExecutionSteps, listTaskSteps } from "./record-steps.ts";
import { isRecorded, toRecorderStep } from "./recorder-steps.ts";

export type Picture = {
  requestId: string;
  taskId?: string;
  traceId?: string;
  /** The Verification zone's state. Without its record: what the latest log line or the Execution zone says. */
  state: string;
  /** Absent without the Verification zone's record, and while there is none. */
  outcome?: string;
  destination?: string;
  startedAtMs: number;
  /** The time at which the thread had the outcome. The worker looks at the thread again minutes later. */
  endedAtMs?: number;
  /** In order of time. */
  steps: PictureStep[];
};

export type PictureSources = {
  requestId: string;
  task?: Task | undefined;
  execution?: ExecutionTask | undefined;
  /** Lines and steps may be of other tasks too. */
  lines?: readonly LogLine[];
  stepRecorder?: readonly RecordedStep[];
  nowMs: number;
};

/** Undefined where nothing is known of the task. */
export function createPicture(sources: PictureSources): Picture | undefined {
  const { requestId, task, execution, lines: all = [], stepRecorder = [], nowMs } = sources;
  const trace = task?.trace ?? execution?.trace;
  const ids = { taskId: task?.call?.taskId ?? execution?.id, traceId: trace && readTraceId(trace) };
  const { lines, taskId, traceId } = selectLines({ all, requestId, ...ids });
  const recorded = stepRecorder.filter((step) => step.requestId === requestId);
  const history = task?.history.filter((entry) => !isRecorded(entry, recorded)) ?? [];
  const steps = [
    ...recorded.map(toRecorderStep),
    ...(task === undefined ? [] : listTaskSteps({ ...task, history })),
    ...(execution === undefined ? [] : listExecutionSteps({ task: execution, nowMs })),
    ...listLineSteps({ lines, hasTask: task !== undefined, hasExecution: execution !== undefined }),
  ].sort((a, b) => a.atMs - b.atMs);
  const [first] = steps;
  const last = steps.at(-1);
  if (first === undefined || last === undefined) return undefined;
  const stateInLines = latestField({
    lines: lines.filter(({ message }) => message === "task_step"),
    name: "state",
  });
  const state = task?.state ?? stateInLines ?? execution?.state ?? "unknown";
  const outcome = task && describeOutcome(task);
  const destination = task?.call?.destination ?? latestField({ lines, name: "destination" });
  return {
    requestId,
    ...(taskId !== undefined && { taskId }),
    ...(traceId !== undefined && { traceId }),
    state,
    ...(outcome !== undefined && { outcome }),
    ...(destination !== undefined && { destination }),
    startedAtMs: first.atMs,
    ...(state === "done" && { endedAtMs: (steps.find(isEnd) ?? last).atMs }),
    steps,
  };
}

function isEnd({ zone, title }: PictureStep): boolean {
  return zone === "verification" && title.endsWith(formatStepTitle({ text: "", state: "done" }));
}

function latestField({
  lines,
  name,
}: {
  lines: readonly LogLine[];
  name: string;
}): string | undefined {
  const value = lines.findLast(({ fields }) => fields[name] !== undefined)?.fields[name];
  return value === undefined ? undefined : String(value);
}
