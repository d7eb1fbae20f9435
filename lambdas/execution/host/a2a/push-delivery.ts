/** Delivers push notifications: reads the task, posts it to one configuration's receiver, and sees to another try where that fails. */
import { SekishoError } from "../../../../contracts/errors.ts";
import type { TaskQueue } from "../../../shared/engine/ports.ts";
import { type Log, silentLog } from "../../../shared/log.ts";
import { createPublicPost, type PublicPost } from "../../../shared/public-fetch/public-post.ts";
import type { ExecutionTask } from "../execution-task.ts";
import { type ExecutionStore, guardedStore } from "../guarded-store.ts";
import { runDefaults } from "../run-defaults.ts";
import { encodeTaskMessage, type PushNotice, parseTaskMessage } from "../task-message.ts";
import { createTimeLimit } from "../time-limit.ts";
import { pushRequest } from "./push-request.ts";
import { afterPush, type PushOutcome } from "./push-retry.ts";
import { createTurns } from "./push-turns.ts";
import { viewOf } from "./view.ts";

export type PushDelivery = {
  /**
   * Resolves when the notification was taken, given up, or queued for another try; at once where there is nobody to tell any
   * more, or where the task has changed since: that change has a notice of its own, and an older one must not come after it.
   * Rejects where the store or the queue is away, or the signal aborts: then the notice itself is to come again.
   */
  deliver(request: PushNotice & { signal: AbortSignal }): Promise<void>;
  /** The same for a message of a queue; rejects where it is no notice. */
  handle(request: { body: string; signal: AbortSignal }): Promise<void>;
};

/** A receiver that was told and did not say so in time is told again: notifications come at least once. */
export function createPushDelivery({
  store,
  queue,
  allowLoopback = false,
  post = createPublicPost({ allowLoopback }),
  timeoutMs = 15_000,
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
  /** Of one try. */
  timeoutMs?: number;
  storeTimeoutMs?: number;
  log?: Log;
  now?: () => number;
  random?: () => number;
}): PushDelivery {
  const guarded = guardedStore({ store, timeoutMs: storeTimeoutMs, log });
  const withinTime = createTimeLimit({ ms: storeTimeoutMs, reason: "timeout" });

  async function tried(request: Parameters<PublicPost>[0]): Promise<PushOutcome> {
    try {
      return await post(request);
    } catch (thrown) {
      request.signal.throwIfAborted();
      return { reason: SekishoError.from(thrown).reason };
    }
  }

  async function deliver({ signal, ...notice }: PushNotice & { signal: AbortSignal }): Promise<void> {
    const { taskId, configId, attempt } = notice;
    signal.throwIfAborted();
    const task = await guarded.get({ id: taskId });
    const config = task?.a2a?.pushConfigs?.find(({ id }) => id === configId);
    if (task === undefined || config === undefined || !isOf({ notice, task })) {
      log.debug("push_not_due", { task_id: taskId, attempt });
      return;
    }
    const outcome = await tried({ ...pushRequest({ config, task: viewOf({ task }) }), timeoutMs, signal });
    const after = afterPush({ outcome, attempt, nowMs: now(), random });
    const { status, reason } = { status: undefined, reason: undefined, ...outcome };
    const told = { task_id: taskId, state: task.state, attempt, status, reason };
    if (after.next === "done") return log.debug("push_delivered", told);
    if (after.next === "over") return log.warn("push_given_up", told);
    const { delayMs } = after;
    await withinTime(queue.send({ body: encodeTaskMessage({ push: { ...notice, attempt: attempt + 1 } }), delayMs }));
    log.info("push_delayed", { ...told, delay_ms: delayMs });
  }

  // One at a time to a receiver: what it was told later must not overtake what is still under way.
  const inTurn = createTurns();
  const deliverInTurn: PushDelivery["deliver"] = (request) =>
    inTurn({ key: JSON.stringify([request.taskId, request.configId]), work: () => deliver(request) });
  return {
    deliver: deliverInTurn,
    async handle({ body, signal }) {
      const message = parseTaskMessage(body);
      if (!("push" in message)) throw new SekishoError("invalid_params");
      return deliverInTurn({ ...message.push, signal });
    },
  };
}

function isOf({ notice, task }: { notice: PushNotice; task: ExecutionTask }): boolean {
  return task.state === notice.state && task.changedAtMs === notice.changedAtMs;
}
