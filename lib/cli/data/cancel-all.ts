/** Ends the tasks of a person that are under way, and waits until they are over. */
import { setTimeout as wait } from "node:timers/promises";
import type { TaskQueue } from "../../../lambdas/shared/engine/ports.ts";
import type { QueueMessage } from "../../../lambdas/verification/task/messages.ts";
import type { FoundTask } from "./find-person.ts";

/** An answer, and the last look at its thread two minutes later. */
const longestWaitMs = 6 * 60_000;

/** False where some are still under way after that. */
export async function cancelAll({
  tasks,
  team,
  queue,
  stillUnderWay,
  signal,
  pollMs = 2000,
  waitMs = longestWaitMs,
}: {
  tasks: readonly FoundTask[];
  team: string;
  queue: Pick<TaskQueue, "send">;
  stillUnderWay: () => Promise<number>;
  signal: AbortSignal;
  pollMs?: number;
  waitMs?: number;
}): Promise<boolean> {
  for (const { id } of tasks) {
    const message: QueueMessage = { type: "cancel", requestId: id };
    await queue.send({ body: JSON.stringify(message), group: team });
  }
  for (let waitedMs = 0; waitedMs < waitMs; waitedMs += pollMs) {
    if ((await stillUnderWay()) === 0) return true;
    await wait(pollMs, undefined, { signal });
  }
  return (await stillUnderWay()) === 0;
}
