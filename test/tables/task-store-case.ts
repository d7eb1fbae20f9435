/** The environment of a task store's case, and its first item. */
import type {
  ErasableStore,
  ItemWriter,
  StoreIndex,
  TaskItem,
  TaskStore,
} from "@sekisho/runtime/engine/ports.ts";
import type { Clock } from "./clock.ts";

export type SampleItem = TaskItem & { text: string; count: number };

export type StoreWorld = {
  store: ErasableStore<SampleItem> & ItemWriter;
  /** Opens a second client of the same data, as another process would. */
  openAgain(): Promise<TaskStore<SampleItem> & ItemWriter>;
  clock: Clock;
};

export type StoreCase = { name: string; run: (world: StoreWorld) => Promise<void> };

export const hourMs = 3600_000;

export function sample(clock: Clock): SampleItem {
  const index = { state: "waiting", thread: "t", principal: "p" };
  return {
    id: "a",
    revision: 1,
    ...index,
    expiresAtMs: clock.nowMs() + hourMs,
    text: "",
    count: 0,
  };
}

export async function createdIn(
  store: TaskStore<SampleItem>,
  item: SampleItem,
): Promise<SampleItem> {
  const newItem = await store.create({ item });
  if (newItem === undefined) throw new Error("the store was not empty");
  return newItem;
}

export async function idsOf(store: TaskStore<SampleItem>, index: StoreIndex, key: string) {
  const { items } = await store.list({ index, key, limit: 10 });
  return items.map(({ id }) => id);
}
