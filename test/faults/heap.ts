/** A binary heap: the smallest comes out first. */

export type Heap<T> = { push(item: T): void; pop(): T | undefined; size(): number };

export function createHeap<T>({ isBefore }: { isBefore: (a: T, b: T) => boolean }): Heap<T> {
  const items: T[] = [];

  /** Puts the item where it belongs between that place and the top. */
  function rise(item: T, from: number): void {
    let place = from;
    while (place > 0) {
      const parent = (place - 1) >> 1;
      const above = items[parent] as T;
      if (!isBefore(item, above)) break;
      items[place] = above;
      place = parent;
    }
    items[place] = item;
  }

  /** Puts the item where it belongs below the top. */
  function sink(item: T): void {
    const { length } = items;
    let place = 0;
    for (let child = 1; child < length; child = 2 * place + 1) {
      if (child + 1 < length && isBefore(items[child + 1] as T, items[child] as T)) child += 1;
      if (!isBefore(items[child] as T, item)) break;
      items[place] = items[child] as T;
      place = child;
    }
    items[place] = item;
  }

  return {
    push: (item) => rise(item, items.length),
    pop() {
      const first = items[0];
      const last = items.pop();
      if (last !== undefined && items.length > 0) sink(last);
      return first;
    },
    size: () => items.length,
  };
}
