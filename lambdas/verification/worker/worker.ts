/** The worker: takes one queue message and moves one task one step (docs/explanation/architecture.md, "The path of one message"). */

import { SekishoError } from "@sekisho/contracts/errors.ts";
import { isNewerRecord } from "@sekisho/runtime/engine/record-version.ts";
import { readTraceId } from "@sekisho/runtime/telemetry/telemetry.ts";
import { withLateFiles } from "../task/edited.ts";
import { encodeQueueMessage } from "../task/encode-message.ts";
import {
  isInteraction,
  isNewerMessage,
  type MessageChange,
  parseQueueMessage,
  type QueueMessage,
  type TaskMessage,
  toWakeSeq,
} from "../task/messages.ts";
import type { Task } from "../task/task.ts";
import { createHandleCompletion } from "./completion.ts";
import { createHandleDeadLetter } from "./dead-letter.ts";
import { type Lease, type Redelivery, soonAgainMs } from "./held-lease.ts";
import { beginTask, classify } from "./message-decision.ts";
import { leaveMessage } from "./newer-version.ts";
import { type Arrival, receiveMessage } from "./receive-message.ts";
import { runStep, type WorkerOptions } from "./run-step.ts";

type Incoming = { body: string; signal?: AbortSignal };

export type Worker = {
  /**
   * Resolves when the message is handled and may be removed. Rejects if it must be delivered again. `signal` ends the running act, whose
   * effect the next wake-up finds out.
   */
  handle(request: Incoming): Promise<void>;
  /**
   * Handles a message that the queue gave up on: fails its task, or tries it again later. Calls `keep` before any change if an operator
   * should get the message, even an unparsable one. Rejects if the message must be delivered again, so `keep` may be called twice.
   */
  deadLetter(request: Incoming & { keep?: () => Promise<void> }): Promise<void>;
  /** Handles a message of the completion queue. Rejects if the store is unavailable. The message may then be dropped, since polls suffice. */
  completion(request: Incoming): Promise<void>;
};

export function createWorker(options: WorkerOptions): Worker {
  const { log } = options;
  const { runAct: _runAct, stopSession: _stopSession, ...actless } = options;
  return {
    async handle({ body, signal }) {
      const message = parseQueueMessage(body);
      if (message === undefined) {
        if (isNewerMessage(body) && (await leaveMessage(options, { body }))) return;
        // It becomes a dead letter, which an operator sees.
        log.error("queue_message_refused", { reason: "invalid_request", bytes: body.length });
        throw new SekishoError("invalid_request");
      }
      await handleKnown(options, message, signal).catch(async (thrown: unknown) => {
        if (isNewerRecord(thrown) && (await leaveMessage(options, { body, thrown }))) return;
        throw thrown;
      });
    },
    deadLetter: createHandleDeadLetter(actless),
    completion: createHandleCompletion(options),
  };
}

async function handleKnown(
  options: WorkerOptions,
  message: QueueMessage,
  signal: AbortSignal | undefined,
) {
  const stop = signal ?? AbortSignal.timeout(options.leaseMs);
  if (isInteraction(message))
    return options.handleInteraction({ interaction: message, signal: stop });
  if (message.type === "vote_given") return options.passVote({ given: message, signal: stop });
  await handleMessage(options, message, signal);
}

/** Finds the task of the message, moves the task, and sends the message again if it is still needed. */
async function handleMessage(
  options: WorkerOptions,
  received: TaskMessage,
  signal: AbortSignal | undefined,
): Promise<void> {
  const arrival = await receiveMessage(options, received, signal);
  if (arrival.type === "no_task") return;
  const again =
    arrival.type === "undecided" ? arrival : await handleArrival(options, arrival, signal);
  if (again === undefined) return;
  const body = encodeQueueMessage(again.message);
  await options.queue.send({ body, delayMs: again.delayMs, group: arrival.group });
}

/** Decides what becomes of the message, and does that. Resolves to the message if it must come again. */
async function handleArrival(
  options: WorkerOptions,
  { message, task, isNew }: Extract<Arrival, { type: "task" }>,
  signal: AbortSignal | undefined,
): Promise<Redelivery | undefined> {
  const { leaseMs, now = Date.now } = options;
  const nowMs = now();
  const decision = isNew ? beginTask(nowMs) : classify({ message, task, nowMs });
  const log = options.log.with({ request_id: task.id, trace_id: readTraceId(task.trace) });
  const seq = toWakeSeq({ message, task });
  const stop = signal ?? AbortSignal.timeout(leaseMs);
  switch (decision.type) {
    case "drop":
      log.debug("wake_up_dropped", { seq });
      return undefined;
    case "defer":
      if (message.type === "cancel") await cancelUnderWay(options, task, stop);
      log.debug("lease_held", { seq, delay_ms: decision.delayMs });
      return decision;
    case "add_files":
      return { message, delayMs: await addLateFiles(options, { ...decision, task, nowMs }) };
    case "notice":
      return (await options.noticeLateChange({ task, change: decision.change, signal: stop }))
        ? undefined
        : { message, delayMs: soonAgainMs };
    case "run": {
      const policy = { ...options.policy, zoneSecret: await options.zoneSecret() };
      const { event, mayLook, isOwed } = decision;
      const lease = isNew ? task.lease : undefined;
      const begun = { task, lease, event, seq, mayLook, nowMs, signal };
      const result = await runStep({ ...options, policy }, begun);
      if (result === "unclaimed") log.debug("claim_lost", { seq });
      else if (!isOwed) return undefined;
      // If another worker was first, the message is handled again with the record that the other one saved.
      return { message, delayMs: soonAgainMs };
    }
  }
}

/**
 * Adds late files to the record under the lease of another worker, which is about to send the task and takes them over when it saves its
 * next step (`run-step.ts`). A worker of an older version takes its lease as lost then, so the message comes again at the end of the lease.
 * Resolves to the delay until then.
 */
async function addLateFiles(
  { store }: WorkerOptions,
  request: { task: Task; lease: Lease; change: MessageChange; nowMs: number },
): Promise<number> {
  const { task, lease, change, nowMs } = request;
  const added = await store.replace({ item: withLateFiles(task, change.message.files) });
  return added === undefined ? soonAgainMs : lease.untilMs - nowMs + soonAgainMs;
}

/**
 * Asks the host at once to cancel a task that another worker acts on. That worker's call then returns early. The message comes again all
 * the same, because the call may have been answered before, and the next one may be minutes away.
 */
async function cancelUnderWay(
  { runAct }: WorkerOptions,
  task: Task,
  signal: AbortSignal,
): Promise<void> {
  if (task.state !== "sent" && task.state !== "waiting") return;
  await runAct({ act: { type: "cancel" }, task: { ...task, cancelReason: "asked" }, signal });
}
