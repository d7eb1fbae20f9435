/** One line of the bench's table. */

/** `ratio` is ours to the baseline's, both measured in the same run and in `unit`. */
export type BenchRow = { name: string; ours: number; baseline: number; unit: string; ratio: number; note?: string };
