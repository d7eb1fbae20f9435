/** A worker's lease on a task: how it is created and renewed, and what a worker finds that has lost it. */

import type { TaskStore } from "@sekisho/runtime/engine/ports.ts";
import { withLateFiles } from "../../task/edited.ts";
import { userMessageSchema } from "../../task/messages.ts";
import { type Task, taskSchema } from "../../task/task.ts";

export type Lease = NonNullable<Task["lease"]>;

/** The record as this worker wrote it last, with its lease. */
export type ClaimedTask = Task & { lease: Lease };

export function createLease(
  { newId, leaseMs }: { newId: () => string; leaseMs: number },
  nowMs: number,
): Lease {
  return { owner: newId(), untilMs: nowMs + leaseMs };
}

/** A renewal of the lease has changed the revision of the record. */
export function withRevisionOf(record: Task | undefined, task: Task): Task {
  return record === undefined ? task : { ...task, revision: record.revision };
}

/**
 * Another worker may have added late files to the record under this lease (`messages/handle.ts`), so that a write of this worker has failed.
 * Returns the task with them. Resolves to undefined if the lease is lost.
 */
export async function readLateFiles(request: {
  store: Pick<TaskStore<Task>, "get">;
  record: ClaimedTask | undefined;
  task: Task;
}): Promise<{ task: Task; record: ClaimedTask } | undefined> {
  const { store, record, task } = request;
  if (record === undefined) return undefined;
  const stored = await store.get({ id: task.id });
  if (stored?.lease?.owner !== record.lease.owner || stored.revision === record.revision)
    return undefined;
  const completed = withLateFiles(withNewerMembers(task, stored), stored.message.files);
  return { task: completed, record: { ...stored, lease: record.lease } };
}

/** Adds the members that only a newer version knows. It may have written them together with the files. */
function withNewerMembers(task: Task, stored: Task): Task {
  const message = { ...task.message, ...pickUnknown(stored.message, userMessageSchema.shape) };
  return { ...task, ...pickUnknown(stored, taskSchema.shape), message };
}

function pickUnknown(record: object, known: object): object {
  return Object.fromEntries(Object.entries(record).filter(([name]) => !Object.hasOwn(known, name)));
}

/** The share of a lease that is left when it is renewed. A failed renewal is tried again until a tenth is left. */
const renewShare = 0.25;
const renewAgainShare = 0.05;
const endShare = 0.1;

/**
 * Renews the lease while `work` runs, which may last longer. The lease itself stays short, so that another worker soon takes over from one
 * that was killed. The signal of `work` aborts if the lease cannot be renewed, or belongs to another worker. Resolves to the lease as it
 * was renewed last. Rejects with an InterruptedStep.
 */
export async function withRenewedLease<T>(options: {
  store: Pick<TaskStore<Task>, "get" | "replace">;
  record: ClaimedTask;
  leaseMs: number;
  now?: () => number;
  signal: AbortSignal | undefined;
  work: (signal: AbortSignal) => Promise<T>;
}): Promise<{ result: T; record: ClaimedTask }> {
  const { store, leaseMs, now = Date.now, signal, work } = options;
  const loss = new AbortController();
  let { record } = options;
  let renewal = Promise.resolve();
  let timer: NodeJS.Timeout | undefined;
  let isOver = false;

  function schedule(delayMs: number): void {
    // Work that ignores its signal must not keep the lease for ever.
    if (isOver || loss.signal.aborted || signal?.aborted) return;
    timer = setTimeout(() => {
      renewal = renew().then(schedule);
    }, delayMs);
  }

  /** Resolves to the delay before the next renewal. */
  async function renew(): Promise<number> {
    const { lease } = record;
    const isEnding = lease.untilMs - now() <= leaseMs * endShare;
    const item = { ...record, lease: { ...lease, untilMs: now() + leaseMs } };
    // If the record has changed, it was by an earlier renewal whose answer was lost, or by another worker.
    const renewing = isEnding
      ? undefined
      : store.replace({ item }).then((saved) => saved ?? store.get({ id: item.id }));
    const renewed = await renewing?.catch(() => record);
    if (renewed === record) return leaseMs * renewAgainShare;
    if (renewed?.lease?.owner === lease.owner) record = { ...renewed, lease: renewed.lease };
    else loss.abort();
    return untilRenewalMs();
  }

  function untilRenewalMs(): number {
    return Math.max(0, record.lease.untilMs - now() - leaseMs * renewShare);
  }

  schedule(untilRenewalMs());
  const workSignal = signal === undefined ? loss.signal : AbortSignal.any([signal, loss.signal]);
  const ended = await work(workSignal)
    .then((result) => ({ result }))
    .catch((cause: unknown) => ({ cause }));
  isOver = true;
  clearTimeout(timer);
  await renewal;
  if ("result" in ended) return { result: ended.result, record };
  throw new InterruptedStep({ leaseUntilMs: record.lease.untilMs, cause: ended.cause });
}

/** A step failed after it had claimed the lease. No worker can go on before the lease ends, so its message need not come earlier. */
export class InterruptedStep extends Error {
  readonly leaseUntilMs: number;

  constructor({ leaseUntilMs, cause }: { leaseUntilMs: number; cause: unknown }) {
    super("The step was interrupted.", { cause });
    // The log shows the name, so it is the cause's.
    this.name = cause instanceof Error ? cause.name : "InterruptedStep";
    this.leaseUntilMs = leaseUntilMs;
  }
}
