/** One task as both zones know it: their records, and the lines that they logged. */

import {
  deriveTaskId,
  type ExecutionTask,
} from "../../../lambdas/execution/tasks/execution-task.ts";
import { createLog, type LogFields } from "../../../lambdas/shared/log.ts";
import { readTraceId } from "../../../lambdas/shared/telemetry/telemetry.ts";
import type { Task } from "../../../lambdas/verification/task/task.ts";
import { parseLogLine } from "../../../lib/cli/trace/log-lines.ts";
import { sampleCall, sampleTask } from "../../verification/task/sample.ts";

export const secretText = "a text that nobody but the thread may read";
export const requestId = sampleTask().id;
export const taskId = deriveTaskId({ principal: "anyone", requestId }) ?? "";
export const traceId = readTraceId(sampleTask().trace);

/** As it stands when the answer is in the thread. */
export function knownTask({ startMs, ...changes }: Partial<Task> & { startMs: number }): Task {
  const history = [
    { atMs: startMs, event: "asked", state: "received" },
    { atMs: startMs + 100, event: "announced", state: "announced" },
    { atMs: startMs + 150, event: "woken", state: "sent" },
    { atMs: startMs + 2150, event: "answered", state: "delivering" },
    { atMs: startMs + 2300, event: "delivered", state: "done" },
  ] as const;
  const task = sampleTask({
    receivedAtMs: startMs,
    state: "done",
    call: sampleCall(),
    history: [...history],
  });
  return {
    ...task,
    message: { ...task.message, text: secretText },
    expiresAtMs: startMs + 3600_000,
    ...changes,
  };
}

export function knownExecution({
  startMs,
  ...changes
}: Partial<ExecutionTask> & { startMs: number }): ExecutionTask {
  return {
    id: taskId,
    revision: 3,
    state: "completed",
    principal: "anyone",
    requestId,
    correlationId: requestId,
    fingerprint: "f",
    trace: sampleTask().trace,
    createdAtMs: startMs + 170,
    changedAtMs: startMs + 2130,
    deadlineAtMs: startMs + 60_000,
    expiresAtMs: startMs + 3600_000,
    params: { channel: "C1", text: secretText },
    outcome: { type: "success", text: secretText },
    ...changes,
  };
}

/** As text, in the order in which both zones' logs are read: one behind the other. */
export function knownLogs({ startMs }: { startMs: number }): string[] {
  const written: string[] = [];
  function logOf(service: "verification" | "execution") {
    return (afterMs: number, message: string, fields: LogFields) => {
      const log = createLog({
        service,
        write: (line) => written.push(line),
        now: () => startMs + afterMs,
      });
      if (message.endsWith("_failed")) log.warn(message, fields);
      else log.info(message, fields);
    };
  }
  const ids = { request_id: requestId, trace_id: traceId };
  const ofHost = { ...ids, task_id: taskId, operation: "execute_task", agent: "echo" };
  const execution = logOf("execution");
  execution(180, "task_started", ofHost);
  execution(2130, "task_ended", { ...ofHost, state: "completed", duration_ms: 1950 });
  const verification = logOf("verification");
  verification(1, "message_enqueued", { ...ids, event: "ask" });
  verification(101, "task_step", {
    ...ids,
    event: "announced",
    state: "announced",
    effect: "wake",
  });
  verification(102, "slack_call_failed", {
    ...ids,
    method: "reactions.add",
    reason: "rate_limited",
  });
  verification(152, "task_step", { ...ids, event: "woken", state: "sent", effect: "send" });
  const call = { ...ids, operation: "execute_task", attempt: 1, destination: "host" };
  verification(2140, "call_answered", { ...call, duration_ms: 1985 });
  verification(2151, "task_step", {
    ...ids,
    event: "answered",
    state: "delivering",
    effect: "wake",
  });
  verification(2302, "task_step", {
    ...ids,
    event: "delivered",
    state: "done",
    effect: "leave_thread",
  });
  return written;
}

export function knownLines(given: { startMs: number }) {
  return knownLogs(given).flatMap((text) => parseLogLine(text) ?? []);
}
