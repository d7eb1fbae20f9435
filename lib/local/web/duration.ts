/** Durations as the pages and the command line show them. */

const units = [
  { name: "d", ms: 86_400_000 },
  { name: "h", ms: 3_600_000 },
  { name: "min", ms: 60_000 },
  { name: "s", ms: 1000 },
] as const;

/** In the largest unit that is at least 1: `850 ms`, `12 s`, `3 min`, `5 h`, `4 d`. */
export function formatDuration(ms: number): string {
  const unit = units.find((candidate) => Math.abs(ms) >= candidate.ms);
  return unit === undefined ? `${Math.round(ms)} ms` : `${Math.trunc(ms / unit.ms)} ${unit.name}`;
}
