/** Listings of a store, page by page, only as far as they are read. */
import { type Task, taskSchema } from "../../../lambdas/verification/task/task.ts";
import type { StoredTask, TaskPlace } from "./stored-task.ts";

const pageSize = 50;

/** The states of a task that is not over. */
export const openStates = taskSchema.shape.state.options.filter((state) => state !== "done");

export function isOpen({ state }: Pick<Task, "state">): boolean {
  return state !== "done";
}

/** Everything under one index key, oldest first. Ends early, without a word, when the signal aborts. */
export async function* listItems({
  store,
  index,
  key,
  signal,
}: {
  store: TaskPlace["store"];
  index: "thread" | "state";
  key: string;
  signal: AbortSignal;
}): AsyncGenerator<StoredTask, void, undefined> {
  let cursor: string | undefined;
  do {
    const page = await store.list({ index, key, limit: pageSize, ...(cursor === undefined ? {} : { cursor }) });
    yield* page.items;
    cursor = page.cursor;
  } while (cursor !== undefined && !signal.aborted);
}
