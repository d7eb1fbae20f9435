/** The records of a task store, whatever the engine: changed by compare-and-set, and stored as JSON text. */
import type { TaskItem, TaskStore } from "./ports.ts";

/** More writers than ever meet over one record. A store that refuses as many writes in a row does not keep its word. */
const maxAttempts = 50;

/**
 * Changes one record, or creates it. `decide` gets the record, or what `none` makes if there is none, and is called again after
 * each conflict. It returns the same object if nothing is to be changed. Rejects if the store is away, or if others changed the
 * record at every attempt.
 */
export function changeRecord<Item extends TaskItem, Result>({
  store,
  id,
  none,
  decide,
  exhausted,
}: {
  store: Pick<TaskStore<Item>, "get" | "create" | "replace">;
  id: string;
  none: () => Item;
  decide: (item: Item) => Decision<Item, Result> | Promise<Decision<Item, Result>>;
  exhausted?: () => Error;
}): Promise<Result> {
  return retryOnConflict({
    async attempt() {
      const known = await store.get({ id });
      const before = known ?? none();
      const { item, result } = await decide(before);
      if (item === before) return result;
      const stored = await (known === undefined ? store.create({ item }) : store.replace({ item }));
      return stored === undefined ? conflict : result;
    },
    ...(exhausted && { exhausted }),
  });
}

type Decision<Item, Result> = { item: Item; result: Result };

/** What an attempt resolves to if another writer was first. */
export const conflict = Symbol("conflict");

/** For changes of another shape: repeats `attempt` until it resolves to something else than `conflict`. Counts from 0. */
export async function retryOnConflict<Result>({
  attempt,
  exhausted = () => new Error("A record was changed by others at every attempt."),
}: {
  attempt: (count: number) => Promise<Result | typeof conflict>;
  exhausted?: () => Error;
}): Promise<Result> {
  for (let count = 0; count < maxAttempts; count++) {
    const result = await attempt(count);
    if (result !== conflict) return result;
  }
  throw exhausted();
}

/** An item cannot be written or read. That is not the store's fault, and happens again at every try. */
export class ItemError extends Error {
  /** The stored JSON, where it is JSON but not an item of this kind. */
  readonly json: unknown;

  constructor({ cause, json }: { cause: unknown; json?: unknown }) {
    super("An item cannot be written or read.", { cause });
    this.name = "ItemError";
    this.json = json;
  }
}

export function writeItem(item: object): string {
  try {
    return JSON.stringify(item);
  } catch (cause) {
    throw new ItemError({ cause });
  }
}

/** `parse` gets what JSON.parse gives and throws where that is no item. */
export function readItem<T>({ text, parse }: { text: string; parse: (json: unknown) => T }): T {
  let json: unknown;
  try {
    json = JSON.parse(text);
    return parse(json);
  } catch (cause) {
    throw new ItemError({ cause, json });
  }
}
