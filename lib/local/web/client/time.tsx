/** Durations and ages as people read them. */
import { useEffect, useState } from "preact/hooks";

const units = [
  { name: "d", ms: 86_400_000 },
  { name: "h", ms: 3_600_000 },
  { name: "min", ms: 60_000 },
  { name: "s", ms: 1000 },
] as const;

/** In the largest unit that fits. */
export function formatDuration(ms: number): string {
  const unit = units.find((each) => Math.abs(ms) >= each.ms);
  return unit === undefined ? `${Math.round(ms)} ms` : `${Math.trunc(ms / unit.ms)} ${unit.name}`;
}

/** The current time, which changes once a second, so that all ages of a page change together. */
export function useNow(): number {
  const [nowMs, setNowMs] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNowMs(Date.now()), 1000);
    return () => clearInterval(timer);
  }, []);
  return nowMs;
}

/** A time as its distance from now: an age, an age with "ago", or how soon it is. The clocks of two machines differ. */
export function Age({ atMs, form = "age" }: { atMs: number; form?: "age" | "ago" | "coming" }) {
  const date = new Date(atMs);
  return (
    <time class="age" dateTime={date.toISOString()} title={date.toLocaleString()}>
      {formatAge(useNow() - atMs, form)}
    </time>
  );
}

function formatAge(ageMs: number, form: "age" | "ago" | "coming"): string {
  if (form === "coming") return ageMs > -1000 ? "due" : `in ${formatDuration(-ageMs)}`;
  if (ageMs < 1000) return "now";
  return form === "ago" ? `${formatDuration(ageMs)} ago` : formatDuration(ageMs);
}
