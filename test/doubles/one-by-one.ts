/** Writes several items one after the other, which is all that `writeTogether` promises, so that each write can fail by itself. */
import type { ItemWriter, TaskItem, TaskStore } from "@sekisho/runtime/engine/ports.ts";

type Writable = Pick<TaskStore<TaskItem>, "create" | "replace">;

/** `kinds` are the stores of the items whose ids begin so; the others are in `rest`. */
export function oneByOne({
  kinds,
  rest,
}: {
  kinds: Readonly<Record<string, Writable>>;
  rest: Writable;
}): ItemWriter {
  const storeOf = (id: string) =>
    Object.entries(kinds).find(([prefix]) => id.startsWith(prefix))?.[1] ?? rest;
  return {
    async writeTogether({ writes }) {
      for (const { type, item } of writes) {
        const stored = await storeOf(item.id)[type]({ item });
        if (stored === undefined) return false;
      }
      return true;
    },
  };
}
