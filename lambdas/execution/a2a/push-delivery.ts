/** Delivers push notifications: reads the task, posts it to one configuration's receiver, and sees to another try where that fails. */

import { SekishoError } from "../../../contracts/errors.ts";
import type { TaskQueue } from "../../shared/engine/ports.ts";
import { type Log, silentLog } from "../../shared/log.ts";
import { createPublicPost, type PublicPost } from "../../shared/public-fetch/public-fetch.ts";
import { parseUrl } from "../../shared/untrusted-input.ts";
import { createTimeLimit } from "../runs/time-limit.ts";
import { createLogIds, type ExecutionTask, runDefaults, type StoredPushConfig } from "../tasks/execution-task.ts";
import {
  deriveCallerGroup,
  encodeExecutionMessage,
  type PushNotice,
  parseExecutionMessage,
} from "../tasks/task-message.ts";
import { createGuardedStore, type ExecutionStore } from "../tasks/task-store.ts";
import type { HandleLook } from "./push-outbox.ts";
import { type PushOutcome, planNextPush, pushRequest, waitMs } from "./push-request.ts";
import { toA2aTask } from "./view.ts";

export type PushDelivery = {
  /**
   * Resolves when the notification was taken, given up, or queued for another try; at once where there is nobody to tell any
   * more, where the task has changed since (that change has a notice of its own, and an older one must not come after it), and
   * where its receiver or its caller has too many under way: then it is queued again. Rejects where the store or the queue is away, or the signal aborts: then the notice itself is to come again.
   */
  deliver(request: PushNotice & { signal: AbortSignal }): Promise<void>;
  /** The same for a message of a queue, or what `look` does with a look; rejects where it is neither. */
  handle(request: { body: string; signal: AbortSignal }): Promise<void>;
};

/** At once. A caller has many receivers, and a process many callers: what one of them holds up is not everybody's. */
const maxPerReceiver = 4;
const maxPerCaller = 12;

/** A receiver that was told and did not say so in time is told again: notifications come at least once. */
export function createPushDelivery({
  store,
  queue,
  allowLoopback = false,
  post = createPublicPost({ allowLoopback }),
  look,
  timeoutMs = 10_000,
  storeTimeoutMs = runDefaults.storeTimeoutMs,
  log = silentLog,
  now = Date.now,
  random = Math.random,
}: {
  store: ExecutionStore;
  /** Where another try is queued. */
  queue: TaskQueue;
  allowLoopback?: boolean;
  post?: PublicPost;
  /** Without it looks are nobody's. */
  look?: HandleLook;
  /** Of one try. */
  timeoutMs?: number;
  storeTimeoutMs?: number;
  log?: Log;
  now?: () => number;
  random?: () => number;
}): PushDelivery {
  const guarded = createGuardedStore({ store, timeoutMs: storeTimeoutMs, log });
  const withinTime = createTimeLimit({ ms: storeTimeoutMs, reason: "timeout" });
  const takeSlots = createTakeSlots();

  async function tried(request: Parameters<PublicPost>[0]): Promise<PushOutcome> {
    try {
      return await post(request);
    } catch (thrown) {
      request.signal.throwIfAborted();
      return { reason: SekishoError.from(thrown).reason };
    }
  }

  async function queueAgain({
    task,
    notice,
    delayMs,
  }: {
    task: ExecutionTask;
    notice: PushNotice;
    delayMs: number;
  }): Promise<void> {
    await withinTime(
      queue.send({ body: encodeExecutionMessage({ push: notice }), delayMs, group: deriveCallerGroup(task) }),
    );
  }

  /** What there is to tell, and whom: nobody any more where it is undefined. */
  async function dueTo({
    taskId,
    configId,
    state,
    changedAtMs,
    attempt,
  }: PushNotice): Promise<NotifiedTask | undefined> {
    const task = await guarded.get({ id: taskId });
    const config = task?.a2a?.pushConfigs?.find(({ id }) => id === configId);
    if (task?.state === state && task.changedAtMs === changedAtMs && config !== undefined) return { task, config };
    log.debug("push_not_due", { ...(task && createLogIds(task)), task_id: taskId, operation: "push", attempt });
    return undefined;
  }

  async function deliver({ signal, ...notice }: PushNotice & { signal: AbortSignal }): Promise<void> {
    signal.throwIfAborted();
    const due = await dueTo(notice);
    if (due === undefined) return;
    const release = takeSlots(listBounds(due));
    if (release === undefined) {
      const delayMs = waitMs({ ageMs: now() - notice.changedAtMs, random });
      log.debug("push_waits", { ...createLogIds(due.task), operation: "push", delay_ms: delayMs });
      return queueAgain({ task: due.task, notice, delayMs });
    }
    try {
      // Read again: while it had no place, a newer state may have been told.
      const latest = await dueTo(notice);
      if (latest !== undefined) await notify({ ...latest, notice, signal });
    } finally {
      release();
    }
  }

  async function notify({
    task,
    config,
    notice,
    signal,
  }: NotifiedTask & { notice: PushNotice; signal: AbortSignal }): Promise<void> {
    const { attempt } = notice;
    const outcome = await tried({ ...pushRequest({ config, task: toA2aTask({ task }) }), timeoutMs, signal });
    const after = planNextPush({ outcome, attempt, nowMs: now(), random });
    const { status, reason } = { status: undefined, reason: undefined, ...outcome };
    const fields = { ...createLogIds(task), operation: "push", state: task.state, attempt, status, reason };
    if (after.next === "done") return log.debug("push_delivered", fields);
    if (after.next === "over") return log.warn("push_given_up", fields);
    const { delayMs } = after;
    await queueAgain({ task, notice: { ...notice, attempt: attempt + 1 }, delayMs });
    log.info("push_delayed", { ...fields, delay_ms: delayMs });
  }

  return {
    deliver,
    async handle({ body, signal }) {
      const message = parseExecutionMessage(body);
      if ("push" in message) return deliver({ ...message.push, signal });
      if (!("look" in message)) throw new SekishoError("invalid_params");
      await look?.(message.look);
    },
  };
}

type NotifiedTask = { task: ExecutionTask; config: StoredPushConfig };

/** One at a time to a receiver of a task: what it was told later must not overtake what is still under way. */
function listBounds({ task: { id, principal }, config }: NotifiedTask): SlotLimits[] {
  return [
    { key: JSON.stringify([id, config.id]), atMost: 1 },
    { key: `receiver ${parseUrl(config.url)?.host}`, atMost: maxPerReceiver },
    { key: `caller ${principal}`, atMost: maxPerCaller },
  ];
}

/** Bounds how much may be under way at once, so that what is slow for one does not take the places of all. */
export type SlotLimits = { key: string; atMost: number };

/** Takes a place for each key, or none at all where one has no place left: then undefined. What it returns gives them back. */
export type TakeSlots = (bounds: readonly SlotLimits[]) => (() => void) | undefined;

/** Within this process. */
function createTakeSlots(): TakeSlots {
  const taken = new Map<string, number>();
  const countOf = (key: string) => taken.get(key) ?? 0;

  function change({ key, by }: { key: string; by: number }): void {
    const count = countOf(key) + by;
    if (count === 0) taken.delete(key);
    else taken.set(key, count);
  }

  return (bounds) => {
    if (bounds.some(({ key, atMost }) => countOf(key) >= atMost)) return undefined;
    for (const { key } of bounds) change({ key, by: 1 });
    return () => {
      for (const { key } of bounds) change({ key, by: -1 });
    };
  };
}
