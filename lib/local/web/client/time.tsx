/** Ages as people read them. */
import { useEffect, useState } from "preact/hooks";
import { formatDuration } from "../duration.ts";

/** The ages on the page. One timer serves them all, so that they change together. */
const listeners = new Set<(nowMs: number) => void>();
setInterval(() => {
  const nowMs = Date.now();
  for (const listener of listeners) listener(nowMs);
}, 1000);

/** The current time, which changes once a second. */
export function useNow(): number {
  const [nowMs, setNowMs] = useState(Date.now);
  useEffect(() => {
    listeners.add(setNowMs);
    return () => void listeners.delete(setNowMs);
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
