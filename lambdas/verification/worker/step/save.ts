/** Ends a step: sends its wake-up and saves the record. */

import { encodeQueueMessage } from "../../task/encode-message.ts";
import { queueGroupOf, type Task } from "../../task/task.ts";
import { repeatUnstored, withinLease } from "./act.ts";
import { rethrowUnlessItemError, withOwedAct } from "./claim.ts";
import { decideFailure } from "./decide.ts";
import { isWake, toDelayMs } from "./effects.ts";
import { readLateFiles, withRevisionOf } from "./lease.ts";
import { idsOf, reportStep, reportUnreported, spansOf } from "./report.ts";
import { recordTaskSpan } from "./spans.ts";
import type { Step, StepOptions, StepResult } from "./step.ts";

export async function save(options: StepOptions, step: Step): Promise<StepResult> {
  const { task, effects, record } = step;
  const { stopSession } = options;
  if (stopSession !== undefined && effects.some(({ type }) => type === "stop_session"))
    await withinLease(options, step, (signal) => stopSession({ task, signal }));
  const polls = record === undefined ? effects.find(isWake)?.polls : undefined;
  if (polls !== undefined) return sendAgain(options, step, polls);
  const savedTask = await saveRecord(options, step);
  if (savedTask === undefined) return loseLease(options, step);
  reportUnreported(options, step);
  const { task: previousTask } = step.request;
  recordTaskSpan({ spans: spansOf(options), previousTask, task: savedTask });
  return "saved";
}

export function loseLease({ log }: StepOptions, { record, request }: Step): StepResult {
  if (record === undefined) return "unclaimed";
  log.warn("lease_lost", { ...idsOf(request.task), seq: request.seq });
  return "lost";
}

/** Sends the wake-up again as it is, because nothing but the number of polls has changed. */
async function sendAgain(options: StepOptions, step: Step, polls: number): Promise<StepResult> {
  const { task, effects, request } = step;
  const body = encodeQueueMessage({ type: "wake", requestId: task.id, seq: request.seq, polls });
  const delayMs = toDelayMs(options, effects);
  await options.queue.send({ body, group: queueGroupOf(task), delayMs });
  reportUnreported(options, step);
  return "sent_again";
}

/**
 * Sends the wake-up first and saves the record second. The queue message is finished only after that, so a crash in between leaves one
 * chain of wake-ups. If the record cannot be saved, the task fails, and the record notes the following act (`owed`) so that it is not
 * lost. Resolves to undefined if the lease had ended and another worker has gone on.
 */
async function saveRecord(options: StepOptions, step: Step): Promise<Task | undefined> {
  const { store, queue, newId, now = Date.now } = options;
  const { task, effects, record } = step;
  const seq = step.request.seq + 1;
  // Without a lease, several workers may be here with copies of one message. Of their wake-ups only one may go on.
  const wakeKey = record === undefined ? newId() : undefined;
  const message = { type: "wake", requestId: task.id, seq, key: wakeKey } as const;
  const nextWakeUp = { body: encodeQueueMessage(message), group: queueGroupOf(task) };
  if (effects.some(isWake)) {
    await queue.send({ ...nextWakeUp, delayMs: toDelayMs(options, effects) });
  }
  const { lease: _lease, wakeKey: _wakeKey, ...freeTask } = task;
  const toItem = (item: Task, revisionOf: Task | undefined = record): Task =>
    withRevisionOf(revisionOf, {
      ...item,
      wakeSeq: seq,
      ...(wakeKey !== undefined && { wakeKey }),
    });
  const item = toItem(freeTask);
  const joint = await storeTogether(options, step, item);
  if (joint !== undefined) return joint;
  if (step.unstoredAct !== undefined) await repeatUnstored(options, step);
  const savedTask = await store.replace({ item }).catch(async (thrown: unknown) => {
    const failure = { task: freeTask, atMs: now(), thrown: rethrowUnlessItemError(thrown) };
    const move = withOwedAct(decideFailure(options, failure));
    await queue.send(nextWakeUp);
    const stored = await store.replace({ item: toItem(move.task) });
    if (stored !== undefined) reportStep(options, { ...move, operation: "save" });
    return stored;
  });
  if (savedTask !== undefined) return savedTask;
  const completed = await readLateFiles({ store, record, task: freeTask });
  return completed && store.replace({ item: toItem(completed.task, completed.record) });
}

/** Saves the record together with the writes of an act. Resolves to undefined if there are none, or a condition fails. */
async function storeTogether(
  { store }: StepOptions,
  { unstoredAct }: Step,
  item: Task,
): Promise<Task | undefined> {
  if (unstoredAct === undefined) return undefined;
  const writes = [...unstoredAct.writes, { type: "replace", item } as const];
  const isWritten = await store.writeTogether({ writes }).catch((thrown: unknown) => {
    rethrowUnlessItemError(thrown);
    return false;
  });
  return isWritten ? { ...item, revision: item.revision + 1 } : undefined;
}
