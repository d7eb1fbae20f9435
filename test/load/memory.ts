/** Whether the zones' memory stayed flat over a load run, with a generous bound. Pure. */
import type { Memory } from "./children/tell.ts";
import type { MemorySample } from "./load.ts";

/** Last sample to first, of which the last has ten times as many tasks behind it. */
const most = { heapBytes: 1.5, rssBytes: 2 } as const;

export type MemoryRow = { zone: "verification" | "execution"; kind: keyof Memory; megabytes: number[]; ratio: number };

export function memoryRows(samples: readonly MemorySample[]): MemoryRow[] {
  const zones = ["verification", "execution"] as const;
  const kinds = ["heapBytes", "rssBytes"] as const;
  return zones.flatMap((zone) =>
    kinds.map((kind) => {
      const bytes = samples.map((sample) => sample[zone][kind]);
      const ratio = (bytes.at(-1) ?? 0) / (bytes[0] ?? 0);
      return { zone, kind, megabytes: bytes.map((count) => count / 1e6), ratio };
    }),
  );
}

/** A line for each that is not. */
export function memoryProblems(samples: readonly MemorySample[]): string[] {
  return memoryRows(samples).flatMap(({ zone, kind, ratio }) => {
    if (ratio <= most[kind]) return [];
    return [`The ${zone} zone's memory (${kind}) grew to ${ratio.toFixed(2)} times over the run`];
  });
}
