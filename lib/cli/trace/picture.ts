/** The picture of one task's way through both zones, from whatever is known of it: records, log lines, what the local run saw. */
import type { ExecutionTask } from "../../../lambdas/execution/tasks/execution-task.ts";
import { readTraceId } from "../../../lambdas/shared/telemetry/telemetry.ts";
import type { Task } from "../../../lambdas/verification/task/task.ts";
import type { RecordedStep } from "../../local/recorder/step-recorder.ts";
import { describeOutcome } from "../tasks/text.ts";
import { formatStepTitle } from "./event-text.ts";
import { selectLines } from "./fitting-lines.ts";
import { listExecutionSteps } from "./from-execution-task.ts";
import { toLogStep } from "./from-log-lines.ts";
import { toRecorderStep } from "./from-recorder.ts";
import { listTaskSteps } from "./from-task.ts";
import type { LogLine } from "./log-line.ts";
import { mergeSteps } from "./merge-steps.ts";
import type { PictureStep } from "./picture-step.ts";

export type Picture = {
  requestId: string;
  taskId?: string;
  traceId?: string;
  /** Of the Verification zone; where its record is not known, what the latest line or the Execution zone says. */
  state: string;
  /** In words; absent while there is none, and where no record says it. */
  outcome?: string;
  destination?: string;
  startedAtMs: number;
  /** When the answer, or what stands for it, was in the thread; a look at the thread follows minutes later. */
  endedAtMs?: number;
  /** In order of time. */
  steps: PictureStep[];
};

export type PictureSources = {
  requestId: string;
  task?: Task | undefined;
  execution?: ExecutionTask | undefined;
  /** Of any tasks: those that fit are taken. */
  lines?: readonly LogLine[];
  /** Of any tasks, too. */
  stepRecorder?: readonly RecordedStep[];
  nowMs: number;
};

/** Undefined where nothing is known of it. */
export function createPicture({
  requestId,
  task,
  execution,
  lines: all = [],
  stepRecorder: seen = [],
  nowMs,
}: PictureSources): Picture | undefined {
  const recordTrace = task?.trace ?? execution?.trace;
  const { lines, taskId, traceId } = selectLines({
    all,
    requestId,
    taskId: task?.call?.taskId ?? execution?.id,
    traceId: recordTrace && readTraceId(recordTrace),
  });
  const stepRecorder = seen.filter((step) => step.requestId === requestId);
  const steps = mergeSteps([
    stepRecorder.map(toRecorderStep),
    lines.map(toLogStep),
    task === undefined ? [] : listTaskSteps(task),
    execution === undefined ? [] : listExecutionSteps({ task: execution, nowMs }),
  ]);
  const [first] = steps;
  const last = steps.at(-1);
  if (first === undefined || last === undefined) return undefined;
  const state = task?.state ?? stateOf(lines) ?? execution?.state ?? "unknown";
  const outcome = task && describeOutcome(task);
  const destination = task?.call?.destination ?? fieldOf({ lines, name: "destination" });
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
  return zone === "verification" && title.endsWith(formatStepTitle({ words: "", state: "done" }));
}

function stateOf(lines: readonly LogLine[]): string | undefined {
  return fieldOf({ lines: lines.filter(({ message }) => message === "task_step"), name: "state" });
}

/** As the latest line says it that does. */
function fieldOf({ lines, name }: { lines: readonly LogLine[]; name: string }): string | undefined {
  const value = lines.findLast(({ fields }) => fields[name] !== undefined)?.fields[name];
  return value === undefined ? undefined : String(value);
}
