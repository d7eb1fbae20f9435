/** A binary heap: the smallest comes out first. */

export type Heap<T> = { push(item: T): void; pop(): T | undefined; size(): number };

export function createHeap<T>({ isBefore }: { isBefore: (a: T, b: T) => boolean }): Heap<T> {
  const items: T[] = [];

  function rise(from: number): void {
    let index = from;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (!swapped(index, parent)) return;
      index = parent;
    }
  }

  function sink(): void {
    let index = 0;
    for (;;) {
      const left = 2 * index + 1;
      const right = left + 1;
      const [a, b] = [items[left], items[right]];
      const child = a !== undefined && b !== undefined && isBefore(b, a) ? right : left;
      if (!swapped(child, index)) return;
      index = child;
    }
  }

  /** Swaps where the lower item is to come out before the upper one. */
  function swapped(lower: number, upper: number): boolean {
    const [low, up] = [items[lower], items[upper]];
    if (low === undefined || up === undefined || !isBefore(low, up)) return false;
    items[upper] = low;
    items[lower] = up;
    return true;
  }

  return {
    push(item) {
      items.push(item);
      rise(items.length - 1);
    },
    pop() {
      const [first] = items;
      const last = items.pop();
      if (first === undefined || last === undefined || items.length === 0) return first;
      items[0] = last;
      sink();
      return first;
    },
    size: () => items.length,
  };
}
