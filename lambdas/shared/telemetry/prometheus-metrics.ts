/** Metrics as Prometheus reads them (https://prometheus.io/docs/instrumenting/exposition_formats/), in a registry of their own. */
import { Counter, Gauge, Histogram, Registry } from "prom-client";
import type { Metric } from "./metric.ts";
import { createMetricBound } from "./metric-bound.ts";
import { metricTable } from "./metric-table.ts";
import type { Metrics } from "./metrics.ts";
import { registerProcessMetrics } from "./process-metrics.ts";

export type PrometheusMetrics = {
  metrics: Metrics;
  exposition(): Promise<{ contentType: string; body: string }>;
  /** Lets go of what watches the process. */
  close(): void;
};

/** Each call has its own: several zones of one process are told apart by where they are read. */
export function createPrometheusMetrics(): PrometheusMetrics {
  const registry = new Registry();
  const bound = createMetricBound();
  const counters = new Map<string, Counter>();
  const histograms = new Map<string, Histogram>();
  const gauges = new Map<string, Gauge>();
  for (const [name, { kind, labels, help, buckets }] of Object.entries<Metric>(metricTable)) {
    const common = { name, help, labelNames: labels, registers: [registry] };
    if (kind === "counter") counters.set(name, new Counter(common));
    else if (kind === "gauge") gauges.set(name, new Gauge(common));
    else histograms.set(name, new Histogram({ ...common, buckets: [...(buckets ?? [])] }));
  }
  const stopWatching = registerProcessMetrics(registry);
  return {
    metrics: {
      add: (name, labels, by = 1) => {
        // It throws for what would make a counter less.
        if (Number.isFinite(by) && by >= 0) counters.get(name)?.inc(bound(name, labels), by);
      },
      observe: (name, labels, value) => {
        if (Number.isFinite(value)) histograms.get(name)?.observe(bound(name, labels), value);
      },
      set: (name, labels, value) => {
        if (Number.isFinite(value)) gauges.get(name)?.set(bound(name, labels), value);
      },
    },
    exposition: async () => ({ contentType: registry.contentType, body: await registry.metrics() }),
    close: stopWatching,
  };
}
