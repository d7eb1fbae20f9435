/** Listings of a store. */
import type {
  ErasableStore,
  StoreIndex,
  TaskItem,
  TaskStore,
} from "@sekisho/runtime/engine/ports.ts";

const pageSize = 50;

type Listing<T extends TaskItem> = {
  store: Pick<TaskStore<T>, "list">;
  index: StoreIndex;
  key: string;
  /** Continues another listing. */
  cursor?: string;
  signal: AbortSignal;
};

/**
 * Lists all items under one index key, in the order of the index. Reads a page only when it is needed. Throws if the signal
 * aborts, so that nobody takes half a listing for a whole one.
 */
export async function* listItems<T extends TaskItem>({
  store,
  index,
  key,
  cursor: start,
  signal,
}: Listing<T>): AsyncGenerator<T, void, undefined> {
  let cursor = start;
  do {
    signal.throwIfAborted();
    const page = await store.list({
      index,
      key,
      limit: pageSize,
      ...(cursor !== undefined && { cursor }),
    });
    yield* page.items;
    cursor = page.cursor;
  } while (cursor !== undefined);
}

type Scan<T extends TaskItem> = { store: Pick<ErasableStore<T>, "scan">; signal: AbortSignal };

/** Reads every item of the store, in no order. Throws if the signal aborts, as `listItems`. */
export async function* scanItems<T extends TaskItem>({
  store,
  signal,
}: Scan<T>): AsyncGenerator<T, void, undefined> {
  let cursor: string | undefined;
  do {
    signal.throwIfAborted();
    const page = await store.scan({ cursor });
    yield* page.items;
    cursor = page.cursor;
  } while (cursor !== undefined);
}
