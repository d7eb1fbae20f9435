/** A principal's tasks one by one, the newest first, from where an earlier listing ended. */
import { setImmediate } from "node:timers/promises";
import type { ExecutionTask } from "../execution-task.ts";
import type { Tasks } from "../tasks.ts";
import { foreignPageToken, type PageToken } from "./page-token.ts";

/** Read at once, in which time nobody else gets a turn where the store is in this process. */
const limit = 20;

/** `cursor` is where the store's page begins that the task is of. Throws `invalid_params` for a cursor that is none. */
export async function* newestTasks({
  tasks,
  principal,
  after,
}: {
  tasks: Pick<Tasks, "list">;
  principal: string;
  after: Pick<PageToken, "cursor" | "lastAtMs" | "lastId"> | undefined;
}): AsyncGenerator<{ task: ExecutionTask; cursor: string | undefined }> {
  let cursor = after?.cursor;
  do {
    const page = await tasks.list({ principal, cursor, limit }).catch(refuseForeignCursor);
    for (const task of page.items) if (after === undefined || isOlder({ task, than: after })) yield { task, cursor };
    cursor = page.cursor;
    if (cursor !== undefined) await setImmediate();
  } while (cursor !== undefined);
}

/** In the order of the index: those of one moment by their ids, the greatest first. */
function isOlder({ task, than }: { task: ExecutionTask; than: Pick<PageToken, "lastAtMs" | "lastId"> }): boolean {
  const { listedAtMs = 0, id } = task;
  return listedAtMs < than.lastAtMs || (listedAtMs === than.lastAtMs && id < than.lastId);
}

function refuseForeignCursor(thrown: unknown): never {
  const cause = thrown instanceof Error && thrown.cause !== undefined ? thrown.cause : thrown;
  throw cause instanceof RangeError ? foreignPageToken() : thrown;
}
