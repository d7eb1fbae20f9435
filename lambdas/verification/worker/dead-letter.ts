/** What becomes of a message that the queue gave up on. */
import { isTooOld } from "../gate/age.ts";
import { type Ask, type QueueMessage, seqOf } from "../task/messages.ts";
import { copyPastLease, soonAgainMs } from "./copies.ts";
import { runStep, type WorkerOptions } from "./run-step.ts";

/** How long a message that was never claimed waits. */
const afterDeadLetterMs = 5 * 60_000;

type DeadLetter = { message: QueueMessage; signal: AbortSignal | undefined };

/**
 * The record says `failed` before anything else happens; then the host is asked to cancel, and the next wake-up tells the
 * user in the thread. Resolves to whether the message is to be kept for an operator, who may redrive it. Kept is:
 * - an `ask`, once, whose task could not even be recorded. It goes on by itself for a day; redriven, it is sent as it is;
 * - a `wake` whose task failed with it. Redriven, only the delivery is repeated;
 * - a `redrive`, with which the task stays as it is. Redriven, it is tried again.
 * Not kept is what goes on elsewhere (of a link that is finished, or of a task that a worker holds) or is about nothing.
 */
export async function handleDeadLetter(options: WorkerOptions, { message, signal }: DeadLetter): Promise<boolean> {
  const { store, queue, now = Date.now } = options;
  if (message.type === "redrive") return true;
  const task = await store.get({ id: message.requestId });
  if (task === undefined) return message.type === "ask" ? handleUnclaimed(options, message) : false;
  const seq = seqOf({ message, task });
  if (seq < task.wakeSeq) return false;
  const nowMs = now();
  const group = task.message.team;
  if (task.lease !== undefined && task.lease.untilMs > nowMs) {
    await queue.send({ ...copyPastLease({ message, task, lease: task.lease, nowMs }), group });
    return false;
  }
  if (await runStep(options, { task, event: { type: "dead_lettered" }, seq, nowMs, signal })) return true;
  await queue.send({ body: JSON.stringify(message), delayMs: soonAgainMs, group });
  return false;
}

/** The store was out of reach all the time. The message is all there is, so it is kept going. */
async function handleUnclaimed({ queue, now = Date.now }: WorkerOptions, ask: Ask): Promise<boolean> {
  const { receivedAtMs, message } = ask;
  const isOver = isTooOld({ ts: message.ts, receivedAtMs, nowMs: now() });
  if (!isOver) {
    const body = JSON.stringify({ ...ask, buried: true });
    await queue.send({ body, delayMs: afterDeadLetterMs, group: message.team });
  }
  return ask.buried !== true;
}
