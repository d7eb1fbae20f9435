/** A worker's lease on a task: how it is created and renewed, and when a message that meets one is delivered again. */

import type { TaskStore } from "@sekisho/runtime/engine/ports.ts";
import { withLateFiles } from "../task/edited.ts";
import { type TaskMessage, userMessageSchema } from "../task/messages.ts";
import { type Task, taskSchema } from "../task/task.ts";

export type Lease = NonNullable<Task["lease"]>;

/** The lease of this worker. `stored` is the record with it, as it was written last. */
export type HeldLease = { lease: Lease; stored: Task };

export function createLease(
  { newId, leaseMs }: { newId: () => string; leaseMs: number },
  nowMs: number,
): Lease {
  return { owner: newId(), untilMs: nowMs + leaseMs };
}

/** A renewal of the lease has changed the revision of the record. */
export function withStoredRevision(held: HeldLease | undefined, task: Task): Task {
  return held === undefined ? task : { ...task, revision: held.stored.revision };
}

/**
 * Another worker may have added late files to the record under this lease (`worker.ts`), so that a write of this worker has failed. Returns
 * the task with them. Resolves to undefined if the lease is lost.
 */
export async function readLateFiles(request: {
  store: Pick<TaskStore<Task>, "get">;
  held: HeldLease | undefined;
  task: Task;
}): Promise<{ task: Task; held: HeldLease } | undefined> {
  const { store, held, task } = request;
  if (held === undefined) return undefined;
  const stored = await store.get({ id: task.id });
  if (stored?.lease?.owner !== held.lease.owner) return undefined;
  if (stored.revision === held.stored.revision) return undefined;
  const completed = withLateFiles(withNewerMembers(task, stored), stored.message.files);
  return { task: completed, held: { lease: held.lease, stored } };
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
  held: HeldLease;
  leaseMs: number;
  now?: () => number;
  signal: AbortSignal | undefined;
  work: (signal: AbortSignal) => Promise<T>;
}): Promise<{ result: T; held: HeldLease }> {
  const { store, leaseMs, now = Date.now, signal, work } = options;
  const lost = new AbortController();
  let held = options.held;
  let renewal = Promise.resolve();
  let timer: NodeJS.Timeout | undefined;
  let isOver = false;

  function schedule(delayMs: number): void {
    // Work that ignores its signal must not keep the lease for ever.
    if (isOver || lost.signal.aborted || signal?.aborted) return;
    timer = setTimeout(() => {
      renewal = renew().then(schedule);
    }, delayMs);
  }

  /** Resolves to the delay before the next renewal. */
  async function renew(): Promise<number> {
    const { lease, stored } = held;
    const isEnding = lease.untilMs - now() <= leaseMs * endShare;
    const item = { ...stored, lease: { ...lease, untilMs: now() + leaseMs } };
    // If the record has changed, it was by an earlier renewal whose answer was lost, or by another worker.
    const renewing = isEnding
      ? undefined
      : store.replace({ item }).then((saved) => saved ?? store.get({ id: item.id }));
    const renewed = await renewing?.catch(() => stored);
    if (renewed?.lease?.owner !== lease.owner) lost.abort();
    else if (renewed !== stored) held = { lease: renewed.lease, stored: renewed };
    return renewed === stored ? leaseMs * renewAgainShare : untilRenewalMs();
  }

  function untilRenewalMs(): number {
    return Math.max(0, held.lease.untilMs - now() - leaseMs * renewShare);
  }

  schedule(untilRenewalMs());
  const workSignal = signal === undefined ? lost.signal : AbortSignal.any([signal, lost.signal]);
  const ended = await work(workSignal)
    .then((result) => ({ result }))
    .catch((cause: unknown) => ({ cause }));
  isOver = true;
  clearTimeout(timer);
  await renewal;
  if ("result" in ended) return { result: ended.result, held };
  throw new InterruptedStep({ leaseUntilMs: held.lease.untilMs, cause: ended.cause });
}

/** A message that is to be delivered again. */
export type Redelivery = { message: TaskMessage; delayMs: number };

/** How long a message waits after another worker's lease ends, or after another worker was first. */
export const soonAgainMs = 250;

/**
 * Copies a message that met a held lease, to be delivered when the lease ends. Some copies come sooner, with a doubling delay: a wake-up
 * whose number is above the record's, because its worker is about to save, and `cancel`, `thread_free` and `message_change`, which should not wait for
 * a long call. A message that is too late to change anything waits for the end.
 */
export function deferUntilLeaseEnds(request: {
  message: TaskMessage;
  task: Pick<Task, "wakeSeq">;
  lease: Lease;
  isLate: boolean;
  nowMs: number;
}): Redelivery {
  const { message, task, lease, isLate, nowMs } = request;
  const maxMs = lease.untilMs - nowMs + soonAgainMs;
  const isUrgent =
    message.type === "thread_free" ||
    message.type === "cancel" ||
    message.type === "message_change";
  if (!isLate && isUrgent) return doublingDelay(message, 500, maxMs);
  return !isLate && message.type === "wake" && message.seq > task.wakeSeq
    ? doublingDelay(message, 50, maxMs)
    : { message, delayMs: maxMs };
}

/** Copies a message with a delay that doubles each time. */
function doublingDelay(
  message: Extract<TaskMessage, { type: "wake" | "cancel" | "thread_free" | "message_change" }>,
  firstMs: number,
  maxMs: number,
): Redelivery {
  const early = (message.early ?? 0) + 1;
  return {
    message: { ...message, early },
    delayMs: Math.min(maxMs, firstMs * 2 ** Math.min(early, 20)),
  };
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
