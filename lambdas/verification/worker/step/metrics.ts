/** The metrics of one step, derived from the event and the record before and after it. Uses no clock and no texts. */
import type { Metrics } from "@sekisho/runtime/telemetry/telemetry.ts";
import type { TaskEvent } from "../../task/events.ts";
import { hasFailedDelivery, type Task, type TaskOutcome } from "../../task/task.ts";

type Stepped = { metrics: Metrics; previousTask: Task; event: TaskEvent; task: Task };

/** Counts one step. If a worker dies between the act and the save, the step is repeated and may count twice or not at all. */
export function countStep(stepped: Stepped): void {
  const { previousTask, event, task } = stepped;
  const hasNewState = previousTask.state !== task.state;
  if (hasNewState) countStage(stepped);
  switch (event.type) {
    case "woken":
      countWait(stepped);
      break;
    case "answered":
    case "call_failed":
      countPoll(stepped);
      break;
    case "delivered":
    case "slack_failed":
    case "step_failed":
      countDelivery(stepped);
  }
  if (task.outcome !== previousTask.outcome) countTokens(stepped);
  if (hasNewState) countEnd(stepped);
}

/** A message that does not mention the bot is looked up several times on purpose, so its wait is not counted. */
function countWait({ metrics, previousTask, event }: Stepped): void {
  if (event.type !== "woken" || event.workerDied) return;
  const { state, wakeSeq, attempts, receivedAtMs, message } = previousTask;
  if (state !== "received" || wakeSeq > 0 || attempts > 0 || message.unaddressed) return;
  metrics.observe("sekisho_queue_wait_seconds", {}, seconds(event.nowMs - receivedAtMs));
}

/** Counts from the first of consecutive history entries of one state, because people's requests add entries too. */
function countStage({ metrics, previousTask, task }: Stepped): void {
  const { state: stage, history } = previousTask;
  const first = history[history.findLastIndex(({ state }) => state !== stage) + 1];
  const next = task.history.at(-1);
  if (first === undefined || next === undefined) return;
  metrics.observe("sekisho_stage_seconds", { stage }, seconds(next.atMs - first.atMs));
}

function countPoll({ metrics, event, task }: Stepped): void {
  if ((event.type !== "answered" && event.type !== "call_failed") || event.act !== "poll") return;
  const result = event.type === "answered" ? event.result.status : event.error.reason;
  metrics.add("sekisho_polls_total", { destination: destinationOf(task), result });
}

function countTokens({ metrics, previousTask, task }: Stepped): void {
  if (previousTask.outcome !== undefined || task.outcome?.type !== "answer") return;
  const { input = 0, output = 0 } = task.outcome.tokens ?? {};
  const destination = destinationOf(task);
  if (input > 0) metrics.add("sekisho_tokens_total", { destination, direction: "input" }, input);
  if (output > 0) metrics.add("sekisho_tokens_total", { destination, direction: "output" }, output);
}

function countDelivery({ metrics, previousTask, event, task }: Stepped): void {
  if (event.type === "delivered" && !hasFailedDelivery(task)) {
    metrics.add("sekisho_answers_delivered_total", {
      outcome: outcomeLabels(task.outcome).outcome,
    });
  }
  const reason = giveUpReason({ previousTask, event, task });
  if (reason !== undefined) metrics.add("sekisho_answers_undelivered_total", { reason });
}

/** Returns why this step gave up the delivery, or undefined if it did not. */
export function giveUpReason({
  previousTask,
  event,
  task,
}: Omit<Stepped, "metrics">): string | undefined {
  if (event.type !== "slack_failed" && event.type !== "step_failed") return undefined;
  if (hasFailedDelivery(previousTask) || !hasFailedDelivery(task)) return undefined;
  return event.type === "slack_failed" ? event.kind : "internal";
}

/** Counts the end of a task once, although a redrive may repeat its delivery. A message that was not for the bot has no outcome. */
function countEnd({ metrics, previousTask, task }: Stepped): void {
  const { outcome, history, receivedAtMs } = task;
  const wasOver = previousTask.history.some(({ state }) => state === "done");
  if (task.state !== "done" || wasOver || outcome === undefined) return;
  const labels = outcomeLabels(outcome);
  const destination = destinationOf(task);
  metrics.add("sekisho_tasks_total", { ...labels, destination });
  const took = seconds((history.at(-1)?.atMs ?? receivedAtMs) - receivedAtMs);
  metrics.observe("sekisho_task_seconds", { outcome: labels.outcome, destination }, took);
  const kind = refusalOf(task);
  if (kind !== undefined) metrics.add("sekisho_refusals_total", { kind });
}

function destinationOf({ call }: Task): string {
  return call?.destination ?? "none";
}

/** Never negative, because the clocks of two machines may differ. */
function seconds(ms: number): number {
  return Math.max(0, ms) / 1000;
}

/** The labels of an outcome. A task that a person canceled is not a failure. */
export function outcomeLabels(outcome: TaskOutcome | undefined): {
  outcome: string;
  reason: string;
} {
  if (outcome === undefined) return { outcome: "none", reason: "none" };
  switch (outcome.type) {
    case "failed": {
      const { reason, lost } = outcome;
      return {
        outcome: reason === "canceled" ? "canceled" : "failed",
        reason: lost ? "lost" : reason,
      };
    }
    case "limited":
      return { outcome: "limited", reason: outcome.by };
    case "file_refused":
      return { outcome: "file_refused", reason: outcome.why };
    default:
      return { outcome: outcome.type, reason: "none" };
  }
}

/** Returns why a message was refused, or undefined for a task that began. */
function refusalOf({
  outcome,
  placeholder,
}: Pick<Task, "outcome" | "placeholder">): string | undefined {
  switch (outcome?.type) {
    case "refused":
      return "not_allowed";
    case "limited":
      return `limited_by_${outcome.by}`;
    case "file_refused":
      return `file_${outcome.why}`;
    case "too_old":
    case "not_yours":
    case "unreadable":
      return outcome.type;
    case "failed":
      return placeholder === undefined ? refusedReasons[outcome.reason] : undefined;
    default:
      return undefined;
  }
}

/** The failure reasons of a message that was refused before there was a placeholder. */
const refusedReasons: { readonly [reason: string]: string | undefined } = {
  invalid_params: "says_nothing",
  payload_too_large: "too_long",
  agent_not_found: "no_route",
  rate_limited: "thread_full",
};
