/** Metrics for Prometheus (https://prometheus.io/docs/instrumenting/exposition_formats/) in a separate registry. */

import { monitorEventLoopDelay } from "node:perf_hooks";
import { Counter, Gauge, Histogram, Registry } from "prom-client";
import { metricTable } from "./metric-table.ts";
import type { Metric } from "./metric-table-entry.ts";
import { createMetricBound, type Metrics } from "./telemetry.ts";

export type PrometheusMetrics = {
  metrics: Metrics;
  exposition(): Promise<{ contentType: string; body: string }>;
  /** Stops watching the process. */
  close(): void;
};

/** Each call has its own registry, because several zones of one process have separate metrics pages. */
export function createPrometheusMetrics(): PrometheusMetrics {
  const registry = new Registry();
  const boundLabels = createMetricBound();
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
        // prom-client throws if a counter would decrease.
        if (Number.isFinite(by) && by >= 0) counters.get(name)?.inc(boundLabels(name, labels), by);
      },
      observe: (name, labels, value) => {
        if (Number.isFinite(value)) histograms.get(name)?.observe(boundLabels(name, labels), value);
      },
      set: (name, labels, value) => {
        if (Number.isFinite(value)) gauges.get(name)?.set(boundLabels(name, labels), value);
      },
    },
    exposition: async () => ({ contentType: registry.contentType, body: await registry.metrics() }),
    close: stopWatching,
  };
}

const nanosecondsPerSecond = 1e9;
const microsecondsPerSecond = 1e6;

/**
 * Adds metrics of the process, which are read together with the registry. Does not use prom-client's own collectors, because their
 * observers of the event loop and the garbage collector cannot be stopped. Returns a function that stops ours.
 */
function registerProcessMetrics(registry: Registry): () => void {
  const delay = monitorEventLoopDelay({ resolution: 10 });
  delay.enable();
  const add = (name: string, help: string, readGauge: () => number) => {
    new Gauge({ name, help, registers: [registry], collect: gaugeReader(readGauge) });
  };
  const addTotal = (name: string, help: string, readCounter: () => number) => {
    new Counter({ name, help, registers: [registry], collect: counterReader(readCounter) });
  };
  const startedAtSeconds = Math.floor(Date.now() / 1000 - process.uptime());
  add(
    "process_start_time_seconds",
    "When the process started, in seconds since the epoch.",
    () => startedAtSeconds,
  );
  add("process_resident_memory_bytes", "Memory that the process holds.", () =>
    process.memoryUsage.rss(),
  );
  add(
    "nodejs_heap_size_used_bytes",
    "Memory of JavaScript's objects.",
    () => process.memoryUsage().heapUsed,
  );
  addTotal(
    "process_cpu_user_seconds_total",
    "CPU time in user mode.",
    () => process.cpuUsage().user / microsecondsPerSecond,
  );
  addTotal(
    "process_cpu_system_seconds_total",
    "CPU time in system mode.",
    () => process.cpuUsage().system / microsecondsPerSecond,
  );
  add(
    "nodejs_active_resources",
    "Resources that keep the event loop alive.",
    () => process.getActiveResourcesInfo().length,
  );
  add(
    "nodejs_eventloop_lag_p99_seconds",
    "The 99th percentile of the event loop's delay since the last read.",
    () => {
      const seconds = delay.percentile(99) / nanosecondsPerSecond;
      delay.reset();
      return seconds;
    },
  );
  return () => void delay.disable();
}

function gaugeReader(readGauge: () => number): (this: Gauge) => void {
  return function collect() {
    this.set(readGauge());
  };
}

/** prom-client can only increase a counter, so it is reset before each read. */
function counterReader(readCounter: () => number): (this: Counter) => void {
  return function collect() {
    this.reset();
    this.inc(readCounter());
  };
}
