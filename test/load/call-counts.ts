/** How many calls were made, and how many of them were made to fail, by method. */

export type CallCounts = { calls: Record<string, number>; failed: Record<string, number> };

export function bump(counts: Record<string, number>, name: string): void {
  counts[name] = (counts[name] ?? 0) + 1;
}
