/** A sink that remembers what it was told, in order. */
import type { Metrics } from "@sekisho/runtime/telemetry/telemetry.ts";

export type Counted = [name: string, labels: object, value: number];

export function recordedMetrics(): { metrics: Metrics; counted: Counted[] } {
  const counted: Counted[] = [];
  const metrics: Metrics = {
    add: (name, labels, by = 1) => void counted.push([name, labels, by]),
    observe: (name, labels, value) => void counted.push([name, labels, value]),
    set: (name, labels, value) => void counted.push([name, labels, value]),
  };
  return { metrics, counted };
}
