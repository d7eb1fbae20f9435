/** Metrics as log lines in CloudWatch's embedded metric format, one line for each combination of labels. */

import type { Metric } from "./metric-table-entry.ts";
import { createMetricBound, type Metrics } from "./telemetry.ts";

/** The most values of an array: https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html */
const maxValues = 100;

type Series = { name: string; labels: Readonly<Record<string, string>>; values: number[] };

export type EmfMetrics = {
  metrics: Metrics;
  /** Writes what was collected since the last flush. Never throws. */
  flush(): void;
};

/**
 * Collects the values of one invocation: the sum of a counter, all values of a histogram, and the latest value of a gauge. `zone` is an
 * additional dimension of every metric. Ignores metrics without dimensions in `table`, and values that are not finite.
 */
export function createEmfMetrics({
  table,
  namespace,
  zone,
  write = (line) => process.stdout.write(line),
  now = Date.now,
}: {
  table: Readonly<Record<string, Metric>>;
  namespace: string;
  zone: "verification" | "execution";
  write?: (line: string) => void;
  now?: () => number;
}): EmfMetrics {
  const boundLabels = createMetricBound();
  const series = new Map<string, Series>();

  function seriesOf(name: string, givenLabels: Readonly<Record<string, string>>): Series {
    const labels = boundLabels(name, givenLabels);
    const key = JSON.stringify([name, labels]);
    const knownSeries = series.get(key) ?? { name, labels, values: [] };
    series.set(key, knownSeries);
    return knownSeries;
  }

  function formatLines({ name, labels, values }: Series): string[] {
    const { dimensions } = table[name] ?? {};
    if (dimensions === undefined) return [];
    // CloudWatch drops a dimension set without a name.
    const sets = dimensions.map((set) => [...new Set(["zone", ...set])]);
    const directive = {
      Namespace: namespace,
      Dimensions: sets,
      Metrics: [{ Name: name, Unit: selectUnit(name) }],
    };
    const metadata = { Timestamp: now(), CloudWatchMetrics: [directive] };
    return splitChunks(values).map((chunk) => {
      const target = chunk.length === 1 ? chunk[0] : chunk;
      return `${JSON.stringify({ _aws: metadata, zone, ...labels, [name]: target })}\n`;
    });
  }

  return {
    metrics: {
      add(name, labels, by = 1) {
        if (!(Number.isFinite(by) && by >= 0)) return;
        const { values } = seriesOf(name, labels);
        values[0] = (values[0] ?? 0) + by;
      },
      observe(name, labels, value) {
        if (Number.isFinite(value)) seriesOf(name, labels).values.push(value);
      },
      set(name, labels, value) {
        if (Number.isFinite(value)) seriesOf(name, labels).values[0] = value;
      },
    },
    flush() {
      const all = [...series.values()];
      series.clear();
      for (const line of all.flatMap(formatLines)) write(line);
    },
  };
}

function selectUnit(name: string): string {
  return name.endsWith("_seconds") ? "Seconds" : "Count";
}

function splitChunks(values: number[]): number[][] {
  return Array.from({ length: Math.ceil(values.length / maxValues) }, (_, index) =>
    values.slice(index * maxValues, (index + 1) * maxValues),
  );
}
