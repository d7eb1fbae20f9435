/** Changes records of a task store by compare-and-set, and converts them to JSON text. */
import type { ItemWriter, TaskItem, TaskStore } from "./ports.ts";
import { compareVersion, NewerRecordError, recordVersion } from "./record-version.ts";

/** More than the writers that ever compete for one record. A store that refuses more writes in a row is broken. */
const maxAttempts = 50;

/**
 * Changes or creates one record. `decide` gets the record, or the result of `none`, and runs again after each conflict. It returns the same
 * object to change nothing. `guess` is what the record may be, so that it need not be read: only a write under its revision proves it.
 * Rejects if the store is unavailable or every attempt had a conflict.
 */
export function changeRecord<Item extends TaskItem, Result>(request: {
  store: Pick<TaskStore<Item>, "get" | "create" | "replace">;
  id: string;
  none: () => Item;
  guess?: Guess<Item> | undefined;
  decide: (item: Item) => Decision<Item, Result> | Promise<Decision<Item, Result>>;
  exhausted?: () => Error;
}): Promise<Result> {
  const { store, id, none, guess, decide, exhausted } = request;
  return retryOnConflict({
    async attempt(count) {
      const guessedItem = count === 0 ? guess : undefined;
      const knownItem =
        guessedItem === undefined
          ? await store.get({ id })
          : guessedItem === absent
            ? undefined
            : guessedItem;
      const currentItem = knownItem ?? none();
      const { item, result } = await decide(currentItem);
      if (item === currentItem) return guessedItem === undefined ? result : conflict;
      const storedItem = await (knownItem === undefined
        ? store.create({ item })
        : store.replace({ item }));
      return storedItem === undefined ? conflict : result;
    },
    ...(exhausted && { exhausted }),
  });
}

/** The guess that there is no record yet. */
export const absent = Symbol("absent");
export type Guess<Item> = Item | typeof absent;

type Decision<Item, Result> = { item: Item; result: Result };

/** The result of an attempt after which another writer won. */
export const conflict = Symbol("conflict");

/** Repeats `attempt` until it resolves to something else than `conflict`. `count` starts at 0. */
export async function retryOnConflict<Result>(request: {
  attempt: (count: number) => Promise<Result | typeof conflict>;
  exhausted?: () => Error;
}): Promise<Result> {
  const {
    attempt,
    exhausted = () =>
      new Error(`Other writers changed the record at each of ${maxAttempts} attempts.`),
  } = request;
  for (let count = 0; count < maxAttempts; count++) {
    const result = await attempt(count);
    if (result !== conflict) return result;
  }
  throw exhausted();
}

/** The records that this process has seen last, as guesses for `changeRecord`. */
export type RecordMemory<Item extends TaskItem> = {
  recall(id: string): Item | undefined;
  note(item: Item): void;
};

const maxRemembered = 1000;

/** Keeps the latest thousand. */
export function createRecordMemory<Item extends TaskItem>(): RecordMemory<Item> {
  const items = new Map<string, Item>();
  return {
    recall: (id) => items.get(id),
    note(item) {
      items.delete(item.id);
      items.set(item.id, item);
      const [oldest] = items.keys();
      if (oldest !== undefined && items.size > maxRemembered) items.delete(oldest);
    },
  };
}

/** Notes what is read and written. */
export function withMemory<Item extends TaskItem>(
  store: Pick<TaskStore<Item>, "get" | "create" | "replace">,
  memory: RecordMemory<Item>,
): Pick<TaskStore<Item>, "get" | "create" | "replace"> {
  const noteItem = async (reading: Promise<Item | undefined>) => {
    const item = await reading;
    if (item !== undefined) memory.note(item);
    return item;
  };
  return {
    get: (request) => noteItem(store.get(request)),
    create: (request) => noteItem(store.create(request)),
    replace: (request) => noteItem(store.replace(request)),
  };
}

/** Notes the items of the memory that are written together with others. */
export function writerWithMemory<Item extends TaskItem>(
  writer: ItemWriter,
  {
    memory,
    isOfMemory,
  }: { memory: RecordMemory<Item>; isOfMemory: (item: TaskItem) => item is Item },
): ItemWriter {
  return {
    async writeTogether({ writes }) {
      const isWritten = await writer.writeTogether({ writes });
      if (!isWritten) return false;
      for (const { type, item } of writes) {
        const revision = type === "create" ? 1 : item.revision + 1;
        if (isOfMemory(item)) memory.note({ ...item, revision });
      }
      return true;
    },
  };
}

/** An item cannot be written or read. The item is invalid and not the store unavailable, so a retry does not help. */
export class ItemError extends Error {
  /** The stored value, if it is JSON but not a valid item. */
  readonly json: unknown;

  constructor({ cause, json }: { cause: unknown; json?: unknown }) {
    super("An item cannot be written or read.", { cause });
    this.name = "ItemError";
    this.json = json;
  }
}

/** The text of an item, with the version that writes it. */
export function writeItem(item: object): string {
  try {
    return JSON.stringify({ ...item, recordVersion });
  } catch (cause) {
    throw new ItemError({ cause });
  }
}

/** The end of each text that this version writes. A quote within a string is escaped, so this is always the last member of the item. */
const versionEnd = `,"recordVersion":"${recordVersion}"}`;

/** `parse` throws if the value is not a valid item. Throws a NewerRecordError if only a newer version can read it. */
export function readItem<T>({ text, parse }: { text: string; parse: (json: unknown) => T }): T {
  let json: unknown;
  let isNewer = false;
  try {
    // Cutting the version off the text is cheaper than copying the item without it.
    if (text.endsWith(versionEnd)) {
      json = JSON.parse(`${text.slice(0, -versionEnd.length)}}`);
      return parse(json);
    }
    json = JSON.parse(text);
    const { recordVersion: version, ...item } = json as { recordVersion?: unknown };
    const comparison = compareVersion(version);
    isNewer = comparison !== "known";
    if (comparison === "newer_major") throw new NewerRecordError();
    return parse(item);
  } catch (cause) {
    throw isNewer ? new NewerRecordError({ cause }) : new ItemError({ cause, json });
  }
}
