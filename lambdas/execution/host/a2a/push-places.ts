/** Bounds how much may be under way at once, so that what is slow for one does not take the places of all. */

export type Bound = { key: string; atMost: number };

/** Takes a place for each key, or none at all where one has no place left: then undefined. What it returns gives them back. */
export type TakePlaces = (bounds: readonly Bound[]) => (() => void) | undefined;

/** Within this process. */
export function createPlaces(): TakePlaces {
  const taken = new Map<string, number>();
  const countOf = (key: string) => taken.get(key) ?? 0;

  function change({ key, by }: { key: string; by: number }): void {
    const count = countOf(key) + by;
    if (count === 0) taken.delete(key);
    else taken.set(key, count);
  }

  return (bounds) => {
    if (bounds.some(({ key, atMost }) => countOf(key) >= atMost)) return undefined;
    for (const { key } of bounds) change({ key, by: 1 });
    return () => {
      for (const { key } of bounds) change({ key, by: -1 });
    };
  };
}
