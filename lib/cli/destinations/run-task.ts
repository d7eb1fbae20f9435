/** Runs one task for a person at the command line, with the Verification zone's task machine and its calls, and without Slack. */
import { randomUUID } from "node:crypto";
import { setTimeout as wait } from "node:timers/promises";
import type { Config } from "@sekisho/config/schema.ts";
import { isEndOfTask, isTransient, isUnknown } from "@sekisho/contracts/certainty.ts";
import { SekishoError } from "@sekisho/contracts/errors.ts";
import type { TaskResult } from "@sekisho/contracts/methods.ts";
import { createTrace } from "@sekisho/runtime/telemetry/telemetry.ts";
import { sanitizeLine } from "@sekisho/runtime/untrusted-input.ts";
import type { WorkerDestination } from "@sekisho/verification/destinations.ts";
import { createPolicy } from "@sekisho/verification/gate/rules.ts";
import { createDestinationSlots, createShare } from "@sekisho/verification/slots.ts";
import type { EventOf, TaskEvent } from "@sekisho/verification/task/events.ts";
import { next } from "@sekisho/verification/task/machine.ts";
import { receivedTask, type Task } from "@sekisho/verification/task/task.ts";
import type { Transition } from "@sekisho/verification/task/transition.ts";
import { createCallRunner, type ExecutionCall } from "@sekisho/verification/worker/calls.ts";
import { isAct, isWake, toDelayMs } from "@sekisho/verification/worker/step/effects.ts";

export type TaskRun = {
  config: Pick<Config, "slack" | "routes" | "destinations" | "limits" | "usageHistory">;
  destinationName: string;
  destination: WorkerDestination;
  text: string;
  requestId: string;
  /** Aborts when the person interrupts the command. */
  signal: AbortSignal;
  note(text: string): void;
  /** Called when the host has accepted the task, even if later calls fail. */
  onAccepted(taskId: string): void;
  now?: () => number;
  sleep?: (request: { ms: number; signal: AbortSignal }) => Promise<unknown>;
};

const cancelTimeoutMs = 3000;

/** Sends the task and polls it until it is over or asks. Cancels it on abort. Rejects with a SekishoError if it brought no result. */
export async function runTask(run: TaskRun): Promise<Exclude<TaskResult, { status: "accepted" }>> {
  const { config, destinationName, destination, signal, note, onAccepted, now = Date.now } = run;
  const { sleep = ({ ms }) => wait(ms, undefined, { signal }) } = run;
  const policy = createPolicy({ config });
  let latestError: SekishoError | undefined;
  const client: WorkerDestination["client"] = {
    ...destination.client,
    call: (call) =>
      destination.client.call(call).catch((error: unknown) => {
        latestError = SekishoError.from(error);
        throw latestError;
      }),
  };
  const destinations = new Map([
    // Nobody of Slack asks here, so no token may say so.
    [destinationName, { ...destination, client, botToken: undefined, asker: undefined }],
  ]);
  const transfers = createShare({ max: 1 });
  const calls = createCallRunner({
    destinations,
    slotsOf: createDestinationSlots({ destinations, slots: 4, transfers, now }),
    newId: randomUUID,
    now,
  });
  const showProgress = createProgressNotes(note);

  async function toEvent({ task, effects }: Transition): Promise<TaskEvent> {
    const act = effects.find(isAct);
    if (act?.type === "show_progress") {
      showProgress(task);
      return { type: "progress_shown", nowMs: now(), shown: {} };
    }
    // Until the task has an outcome, its other acts are calls.
    if (act !== undefined) return calls.run({ act: act as ExecutionCall, task, signal });
    await sleep({ ms: toDelayMs({}, effects), signal });
    return { type: "woken", nowMs: now(), workerDied: false, polls: effects.find(isWake)?.polls };
  }

  let sendError: SekishoError | undefined;
  let step: Transition = { task: createSentTask(run, now()), effects: [{ type: "send" }] };
  try {
    for (;;) {
      const event = await toEvent(step);
      signal.throwIfAborted();
      const { task } = step;
      if (event.type === "answered") {
        if (event.result.status !== "accepted") return event.result;
        if (task.state === "sent") note("The task was accepted. Waiting for the result.");
        onAccepted(event.result.task_id);
      }
      if (event.type === "call_failed") {
        if (event.act === "send") sendError = latestError;
        // A look-up that fails leaves the outcome of the send unknown.
        const isUnknown = task.state === "sent" && !isEndOfTask(event.error);
        if (isFinal(task, event)) throw isUnknown ? sendError : latestError;
        if (task.state === "waiting" && task.attempts === 0 && task.cancelReason === undefined)
          note("The destination cannot be reached at the moment. Trying again until the deadline.");
      }
      step = next({ task, event, policy });
      if (step.task.state === "delivering") {
        // A task that is given up must not begin later.
        if (step.effects.some(({ type }) => type === "cancel")) await toEvent(step);
        throw task.cancelReason === undefined
          ? latestError
          : new SekishoError("timeout", { cause: latestError });
      }
    }
  } catch (error) {
    if (signal.aborted) {
      const task: Task = { ...step.task, cancelReason: "asked" };
      const limit = AbortSignal.timeout(cancelTimeoutMs);
      await calls.run({ act: { type: "cancel" }, task, signal: limit });
    }
    throw error;
  }
}

function createSentTask(run: TaskRun, nowMs: number): Task {
  const { config, destinationName, text, requestId } = run;
  const deadlineMs = config.destinations[destinationName]?.deadlineMs ?? 0;
  const [channel, sessionId] = ["cli", `cli-${requestId}`];
  const from = { appId: channel, team: channel, channel, user: channel, direct: true };
  const message = { ...from, ts: String(nowMs / 1000), text };
  const base = { requestId, receivedAtMs: nowMs, trace: createTrace(), message };
  const key = { channel, correlation_id: requestId, session_id: sessionId };
  return {
    ...receivedTask(base),
    state: "sent",
    wait: { polls: 0, workStartedAtMs: nowMs },
    call: {
      destination: destinationName,
      sessionId,
      params: { ...key, text, timeout_ms: deadlineMs },
      deadlineAtMs: nowMs + deadlineMs,
      arrival: "none",
    },
  };
}

/**
 * True if the person is told of the failure now, although the zone might try again. They wait, so only an ambiguous send is looked up, and
 * only an accepted task is polled through an outage.
 */
function isFinal({ state, cancelReason }: Task, { act, error }: EventOf<"call_failed">): boolean {
  if (cancelReason !== undefined) return false;
  return state === "sent" ? act !== "send" || !isUnknown(error) : !isTransient(error);
}

function createProgressNotes(note: (text: string) => void): (task: Task) => void {
  let shownLine = "";
  return ({ progress: { text, percent, partialText } = {} }) => {
    const parts = [text, percent === undefined ? undefined : `${percent} %`].filter(Boolean);
    const line = parts.join(" ") || (partialText === undefined ? "" : "Writing the answer");
    if (line !== "" && line !== shownLine) note(sanitizeLine(line));
    shownLine = line;
  };
}
