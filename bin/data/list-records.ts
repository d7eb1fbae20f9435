/** Listings of a store, page by page, only as far as they are read. */
import type { StoreIndex, TaskStore } from "../../lambdas/shared/engine/ports.ts";
import type { StoredRecord } from "./record.ts";

const pageSize = 50;

/** All records under one index key, in the order of the index. Throws where the signal aborts: half a listing is none. */
export async function* listRecords({
  store,
  index,
  key,
  signal,
}: {
  store: Pick<TaskStore<StoredRecord>, "list">;
  index: StoreIndex;
  key: string;
  signal: AbortSignal;
}): AsyncGenerator<StoredRecord, void, undefined> {
  let cursor: string | undefined;
  do {
    signal.throwIfAborted();
    const page = await store.list({ index, key, limit: pageSize, ...(cursor === undefined ? {} : { cursor }) });
    yield* page.items;
    cursor = page.cursor;
  } while (cursor !== undefined);
}
