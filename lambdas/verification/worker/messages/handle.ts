/** Handles a message that moves a task: finds out what is known about it, decides what becomes of it, and does that. */
import type { LogFields } from "@sekisho/runtime/log.ts";
import { withLateFiles } from "../../task/edited.ts";
import { type TaskMessage, toWakeSeq } from "../../task/messages.ts";
import { idsOf } from "../step/report.ts";
import { runStep } from "../step/run.ts";
import { classify, type Decision, type Facts } from "./classify.ts";
import { type MessageCopy, retrySoon, sendCopy, untilLeaseEndMs } from "./message-copy.ts";
import { receive } from "./receive.ts";
import type { WorkerOptions } from "./worker-options.ts";

export async function handleMessage(
  options: WorkerOptions,
  message: TaskMessage,
  signal: AbortSignal | undefined,
): Promise<void> {
  const facts = await receive(options, message, signal);
  const copy = await execute({ options, facts, signal }, classify(facts));
  if (copy !== undefined) await sendCopy(options.queue, copy);
}

type Handling = { options: WorkerOptions; facts: Facts; signal: AbortSignal | undefined };

type DecisionOf<T extends Decision["type"]> = Extract<Decision, { type: T }>;

/** Each resolves to the message if it must come again. */
type Executors = {
  readonly [T in Decision["type"]]: (
    handling: Handling,
    decision: DecisionOf<T>,
  ) => Promise<MessageCopy | undefined>;
};

const executors: Executors = {
  drop,
  defer,
  cancel_running: cancelRunning,
  add_files: addFiles,
  notice,
  run,
};

function execute<T extends Decision["type"]>(
  handling: Handling,
  decision: DecisionOf<T>,
): Promise<MessageCopy | undefined> {
  const executeDecision: Executors[T] = executors[decision.type];
  return executeDecision(handling, decision);
}

function stopOf({ options: { leaseMs }, signal }: Handling): AbortSignal {
  return signal ?? AbortSignal.timeout(leaseMs);
}

async function drop({ options: { log, telemetry }, facts }: Handling): Promise<undefined> {
  const { message } = facts;
  const ids = idsOfFacts(facts);
  switch (facts.type) {
    case "recorded":
      log.debug("wake_up_dropped", { ...ids, seq: toWakeSeq(facts) });
      break;
    case "unknown_thread":
      log.debug("reply_dropped", ids);
      break;
    case "unrecorded":
      if (message.type === "message_change") log.debug("change_dropped", ids);
      else log.warn("message_without_task", { ...ids, event: message.type });
      break;
    case "ignored": {
      const { team, user, unaddressed } = facts.message.message;
      if (unaddressed) break;
      log.info("message_ignored", { ...ids, team, user, reason: "not_allowed" });
      telemetry?.metrics.add("sekisho_refusals_total", { kind: "not_allowed" });
    }
  }
}

async function defer(
  { options, facts }: Handling,
  { copy }: DecisionOf<"defer">,
): Promise<MessageCopy> {
  const fields = { event: facts.message.type, delay_ms: copy.delayMs };
  options.log.debug("message_deferred", { ...idsOfFacts(facts), ...fields });
  return copy;
}

function idsOfFacts(facts: Facts): LogFields {
  return "task" in facts ? idsOf(facts.task) : { request_id: facts.message.requestId };
}

/** The Execution zone is told at once, so that the call of the other worker returns early. */
async function cancelRunning(
  handling: Handling,
  { task, copy }: DecisionOf<"cancel_running">,
): Promise<MessageCopy> {
  const canceledTask = { ...task, cancelReason: "asked" } as const;
  const signal = stopOf(handling);
  await handling.options.runAct({ act: { type: "cancel" }, task: canceledTask, signal });
  return copy;
}

/**
 * Adds late files to the record under the lease of another worker, which is about to send the task and takes them over when it saves its
 * next step (`step/lease.ts`). A worker of an older version then believes that it has lost its lease, so the message comes again at the end
 * of the lease.
 */
async function addFiles(
  { options, facts }: Handling,
  { task, change }: DecisionOf<"add_files">,
): Promise<MessageCopy> {
  const item = withLateFiles(task, change.message.files);
  const soon = retrySoon(change, task);
  const isAdded = (await options.store.replace({ item })) !== undefined;
  return isAdded ? { ...soon, delayMs: untilLeaseEndMs(task, facts.nowMs) } : soon;
}

async function notice(
  handling: Handling,
  { task, change }: DecisionOf<"notice">,
): Promise<MessageCopy | undefined> {
  const signal = stopOf(handling);
  const isSettled = await handling.options.noticeLateChange({ task, change, signal });
  return isSettled ? undefined : retrySoon(change, task);
}

async function run(
  { options, facts: { message, nowMs }, signal }: Handling,
  { task, noticeFollows, ...start }: DecisionOf<"run">,
): Promise<MessageCopy | undefined> {
  const policy = { ...options.policy, zoneSecret: await options.zoneSecret() };
  const seq = toWakeSeq({ message, task });
  const result = await runStep({ ...options, policy }, { ...start, task, seq, nowMs, signal });
  if (result === "unclaimed") options.log.debug("claim_lost", { ...idsOf(task), seq });
  return result === "unclaimed" || noticeFollows ? retrySoon(message, task) : undefined;
}
