/** Listings of a store, page by page, only as far as they are read. */
import type { TaskPlace } from "./place.ts";
import type { StoredTask } from "./stored-task.ts";

const pageSize = 50;

/** Everything under one index key, oldest first. Ends early, without a word, when the signal aborts. */
export async function* itemsOf({
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
