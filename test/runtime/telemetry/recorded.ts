/** A sink that remembers what it was told, in order. */
import type { Metrics } from "@sekisho/runtime/telemetry/telemetry.ts";

export type Counted = [name: string, labels: object, value: number];

export function recordedMetrics(): { metrics: Metrics; counted: Counted[] } {
  const counts: Counted[] = [];
  const metrics: Metrics = {
    add: (name, labels, by = 1) => void counts.push([name, labels, by]),
    observe: (name, labels, value) => void counts.push([name, labels, value]),
    set: (name, labels, value) => void counts.push([name, labels, value]),
  };
  return { metrics, counted: counts };
}
