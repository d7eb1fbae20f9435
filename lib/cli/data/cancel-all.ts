/** Cancels a person's tasks and waits until they are over. */

import { setTimeout as wait } from "node:timers/promises";
import { encodeQueueMessage } from "../../../lambdas/verification/task/encode-message.ts";
import type { QueueMessage } from "../../../lambdas/verification/task/messages.ts";
import { taskSchema } from "../../../lambdas/verification/task/task.ts";
import { isUnderWay } from "./find-person.ts";
import type { RecordZone } from "./person.ts";

/** Enough for the answer, and for the last look at the thread two minutes later. */
const longestWaitMs = 6 * 60_000;

type Cancellation = {
  zone: { store: Pick<RecordZone["store"], "get"> } & Pick<RecordZone, "queue">;
  ids: readonly string[];
  team: string;
  signal: AbortSignal;
  pollMs?: number;
  waitMs?: number;
};

/** Resolves to false if some are still under way after `waitMs`. */
export async function cancelAll(request: Cancellation): Promise<boolean> {
  const { ids, team, signal, pollMs = 2000, waitMs = longestWaitMs } = request;
  const { store, queue } = request.zone;

  async function isAnyUnderWay(): Promise<boolean> {
    for (const id of ids) {
      const task = taskSchema.safeParse(await store.get({ id })).data;
      if (task !== undefined && isUnderWay({ task, nowMs: Date.now() })) return true;
    }
    return false;
  }

  for (const requestId of ids) {
    const message: QueueMessage = { type: "cancel", requestId };
    await queue.send({ body: encodeQueueMessage(message), group: team });
  }
  for (let waitedMs = 0; waitedMs < waitMs; waitedMs += pollMs) {
    if (!(await isAnyUnderWay())) return true;
    await wait(pollMs, undefined, { signal });
  }
  return !(await isAnyUnderWay());
}
