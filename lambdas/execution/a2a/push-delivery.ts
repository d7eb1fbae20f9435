/** Delivers push notifications: posts the task to the receiver of one configuration, and queues another attempt if that fails. */

import type { A2aTask } from "@sekisho/contracts/a2a/task.ts";
import { eventToV03 } from "@sekisho/contracts/a2a/v03/task.ts";
import { SekishoError } from "@sekisho/contracts/errors.ts";
import { createTimeLimit } from "@sekisho/runtime/async/time-limit.ts";
import { backoffMs, parseRetryAfter } from "@sekisho/runtime/async/waiting.ts";
import type { TaskQueue } from "@sekisho/runtime/engine/ports.ts";
import { type Log, silentLog } from "@sekisho/runtime/log.ts";
import { createPublicPost, type PublicPost } from "@sekisho/runtime/public-fetch/public-fetch.ts";
import { parseUrl, toWellFormedJson } from "@sekisho/runtime/untrusted-input.ts";
import {
  createLogIds,
  type ExecutionTask,
  runDefaults,
  type StoredPushConfig,
} from "../tasks/execution-task.ts";
import {
  deriveCallerGroup,
  encodeExecutionMessage,
  type PushNotice,
  parseExecutionMessage,
} from "../tasks/task-message.ts";
import { createGuardedStore, type ExecutionStore } from "../tasks/task-store.ts";
import type { HandleLook } from "./push-outbox.ts";
import { toA2aTask } from "./view.ts";

export type PushDelivery = {
  /**
   * Resolves when the notification was accepted, given up, or queued again. It is queued again after a failure that may pass, and, a limited
   * number of times, if its receiver or caller has too many deliveries under way. Does nothing if the task has changed since, because that change has its own
   * notice and notifications must stay in order. Rejects if the store or the queue is unavailable or the signal aborts, so that the
   * notice itself comes again.
   */
  deliver(request: PushNotice & { signal: AbortSignal }): Promise<void>;
  /** Handles a queue message with a notice or a look. Rejects for any other message. */
  handle(request: { body: string; signal: AbortSignal }): Promise<void>;
};

/** Concurrent deliveries. A slow receiver must not take all slots of its caller, nor a caller all slots of the process. */
const maxPerReceiver = 4;
const maxPerCaller = 12;

/** Notifications arrive at least once: a receiver that does not confirm in time gets the notification again. */
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: listed until it is cut along its topics.
export function createPushDelivery(options: {
  store: ExecutionStore;
  /** The queue for further attempts. */
  queue: TaskQueue;
  allowLoopback?: boolean;
  post?: PublicPost;
  /** Without it, looks are ignored. */
  look?: HandleLook;
  /** The limit for one attempt. */
  timeoutMs?: number;
  storeTimeoutMs?: number;
  log?: Log;
  now?: () => number;
  random?: () => number;
}): PushDelivery {
  const {
    store,
    queue,
    allowLoopback = false,
    post = createPublicPost({ allowLoopback }),
    look,
  } = options;
  const {
    timeoutMs = 10_000,
    storeTimeoutMs = runDefaults.storeTimeoutMs,
    log = silentLog,
    now = Date.now,
  } = options;
  const { random = Math.random } = options;
  const guardedStore = createGuardedStore({ store, timeoutMs: storeTimeoutMs, log });
  const withinTime = createTimeLimit({ ms: storeTimeoutMs, reason: "timeout" });
  const takeSlots = createTakeSlots();

  async function tryPost(request: Parameters<PublicPost>[0]): Promise<PushOutcome> {
    try {
      return await post(request);
    } catch (error) {
      request.signal.throwIfAborted();
      return { reason: SekishoError.from(error).reason };
    }
  }

  async function queueAgain(request: {
    task: ExecutionTask;
    notice: PushNotice;
    delayMs: number;
  }): Promise<void> {
    const { task, notice, delayMs } = request;
    await withinTime(
      queue.send({
        body: encodeExecutionMessage({ push: notice }),
        delayMs,
        group: deriveCallerGroup(task),
      }),
    );
  }

  /** The task and its configuration; undefined if the notice is outdated. */
  async function findDuePush(request: PushNotice): Promise<NotifiedTask | undefined> {
    const { taskId, configId, state, changedAtMs, attempt } = request;
    const task = await guardedStore.get({ id: taskId });
    const config = task?.a2a?.pushConfigs?.find(({ id }) => id === configId);
    if (task?.state === state && task.changedAtMs === changedAtMs && config !== undefined)
      return { task, config };
    log.debug("push_not_due", {
      ...(task && createLogIds(task)),
      task_id: taskId,
      operation: "push",
      attempt,
    });
    return undefined;
  }

  async function deliver({
    signal,
    ...notice
  }: PushNotice & { signal: AbortSignal }): Promise<void> {
    signal.throwIfAborted();
    const duePush = await findDuePush(notice);
    if (duePush === undefined) return;
    const release = takeSlots(listBounds(duePush));
    if (release === undefined) return waitForSlot({ task: duePush.task, notice });
    try {
      // Read again, because a newer state may have been sent in the meantime.
      const latestPush = await findDuePush(notice);
      if (latestPush !== undefined) await notify({ ...latestPush, notice, signal });
    } finally {
      release();
    }
  }

  async function waitForSlot({
    task,
    notice,
  }: {
    task: ExecutionTask;
    notice: PushNotice;
  }): Promise<void> {
    const { state, attempt } = notice;
    const waits = (notice.waits ?? 0) + 1;
    const fields = { ...createLogIds(task), operation: "push", state, attempt };
    if (waits > maxWaits) return log.warn("push_given_up", { ...fields, reason: "rate_limited" });
    const delayMs = waitMs({ ageMs: now() - notice.changedAtMs, random });
    log.debug("push_waits", { ...fields, delay_ms: delayMs });
    await queueAgain({ task, notice: { ...notice, waits }, delayMs });
  }

  async function notify(
    request: NotifiedTask & { notice: PushNotice; signal: AbortSignal },
  ): Promise<void> {
    const { task, config, notice, signal } = request;
    const { attempt } = notice;
    const outcome = await tryPost({
      ...pushRequest({ config, task: toA2aTask({ task }) }),
      timeoutMs,
      signal,
    });
    const nextPush = planNextPush({ outcome, attempt, nowMs: now(), random });
    const { status, reason } = { status: undefined, reason: undefined, ...outcome };
    const fields = {
      ...createLogIds(task),
      operation: "push",
      state: task.state,
      attempt,
      status,
      reason,
    };
    if (nextPush.next === "done") return log.debug("push_delivered", fields);
    if (nextPush.next === "over") return log.warn("push_given_up", fields);
    const { delayMs } = nextPush;
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

/** A task sends one notification at a time to each receiver, so that they arrive in order. */
function listBounds({ task: { id, principal }, config }: NotifiedTask): SlotLimits[] {
  return [
    { key: JSON.stringify([id, config.id]), atMost: 1 },
    { key: `receiver ${parseUrl(config.url)?.host}`, atMost: maxPerReceiver },
    { key: `caller ${principal}`, atMost: maxPerCaller },
  ];
}

/** The limit `atMost` for the work that shares a `key`. */
type SlotLimits = { key: string; atMost: number };

/** Takes a slot for each key and returns a function that releases them. Returns undefined and takes none if any key is full. */
type TakeSlots = (bounds: readonly SlotLimits[]) => (() => void) | undefined;
function createTakeSlots(): TakeSlots {
  const slotCounts = new Map<string, number>();
  const countOf = (key: string) => slotCounts.get(key) ?? 0;

  function change({ key, by }: { key: string; by: number }): void {
    const count = countOf(key) + by;
    if (count === 0) slotCounts.delete(key);
    else slotCounts.set(key, count);
  }

  return (bounds) => {
    if (bounds.some(({ key, atMost }) => countOf(key) >= atMost)) return undefined;
    for (const { key } of bounds) change({ key, by: 1 });
    return () => {
      for (const { key } of bounds) change({ key, by: -1 });
    };
  };
}

type PushRequest = { url: string; headers: Record<string, string>; body: string };

/** Builds a push notification: the task in the A2A version of its configuration (A2A 1.0, section 4.3.3; 0.3, section 9.5). */
function pushRequest(request: { config: StoredPushConfig; task: A2aTask }): PushRequest {
  const { task } = request;
  const { url, token, authentication, version } = request.config;
  // A scheme without credentials proves nothing.
  const credentials = authentication?.credentials;
  const contentType = version === "0.3" ? "application/json" : "application/a2a+json";
  return {
    url,
    headers: {
      "content-type": contentType,
      "a2a-version": version,
      ...(credentials !== undefined && {
        authorization: `${authentication?.scheme} ${credentials}`,
      }),
      ...(token !== undefined && { "x-a2a-notification-token": token }),
    },
    body: toWellFormedJson(version === "0.3" ? eventToV03({ task }) : { task }),
  };
}

/** Eight attempts take about ten minutes at most. */
const maxAttempts = 8;
const baseMs = 5000;
const capMs = 300_000;

/** The status of the receiver's answer, or the reason why there was none. */
export type PushOutcome = { status: number; retryAfter?: string | undefined } | { reason: string };

/** `again`: the receiver may accept the notification later. `over`: it never will, or all attempts are used up. A redirect is `over`. */
export function planNextPush(request: {
  outcome: PushOutcome;
  attempt: number;
  nowMs: number;
  random: () => number;
}): { next: "done" } | { next: "again"; delayMs: number } | { next: "over" } {
  const { outcome, attempt, nowMs, random } = request;
  if ("status" in outcome && outcome.status >= 200 && outcome.status < 300) return { next: "done" };
  if (!canRepeat(outcome) || attempt + 1 >= maxAttempts) return { next: "over" };
  const wishedMs =
    "retryAfter" in outcome ? (parseRetryAfter({ header: outcome.retryAfter, nowMs }) ?? 0) : 0;
  const delayMs = backoffMs({ attempt, baseMs, capMs, random });
  return { next: "again", delayMs: Math.max(delayMs, Math.min(wishedMs, capMs)) };
}

/** All waits of one notice take about an hour. After that the client must poll, or the next change notifies it. */
const maxWaits = 99;
const minWaitMs = 500;
const maxWaitMs = 60_000;

/** Waits about as long as the notice is old: the longer the backlog, the less often each notice is tried. */
export function waitMs({ ageMs, random }: { ageMs: number; random: () => number }): number {
  return Math.min(maxWaitMs, Math.max(minWaitMs, ageMs)) * (0.5 + random() / 2);
}

function canRepeat(outcome: PushOutcome): boolean {
  // `invalid_response` means that the answer was not HTTP. A gateway that is starting may answer so.
  if ("reason" in outcome)
    return outcome.reason === "unavailable" || outcome.reason === "invalid_response";
  const { status } = outcome;
  return status === 408 || status === 429 || status >= 500;
}
