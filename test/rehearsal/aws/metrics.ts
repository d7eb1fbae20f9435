/** CloudWatch's metrics of a rehearsal: what AWS and the zones measured, by account, region, namespace, name and dimensions. */

export type MetricId = {
  account: string;
  region: string;
  namespace: string;
  name: string;
  dimensions: Readonly<Record<string, string>>;
};

export type Sample = { atMs: number; value: number };

/** Both ends belong to it. */
export type Window = { fromMs?: number; toMs?: number };

export type Metrics = {
  record(sample: MetricId & { value: number; atMs?: number }): void;
  /** In the order in which they were recorded. Empty where nothing was ever recorded. */
  samples(id: MetricId, window?: Window): Sample[];
  /** Every metric that has a sample. */
  ids(): MetricId[];
  /** When the first sample was taken; now where there is none. */
  firstMs(): number;
};

export function createMetrics({ now = Date.now }: { now?: () => number } = {}): Metrics {
  const all = new Map<string, { id: MetricId; samples: Sample[] }>();
  let firstMs: number | undefined;
  return {
    firstMs: () => firstMs ?? now(),
    record({ value, atMs = now(), ...id }) {
      firstMs = Math.min(atMs, firstMs ?? atMs);
      const key = keyOf(id);
      const metric = all.get(key) ?? { id, samples: [] };
      all.set(key, metric);
      metric.samples.push({ atMs, value });
    },
    samples(id, { fromMs = Number.NEGATIVE_INFINITY, toMs = Number.POSITIVE_INFINITY } = {}) {
      const samples = all.get(keyOf(id))?.samples ?? [];
      return samples.filter(({ atMs }) => atMs >= fromMs && atMs <= toMs);
    },
    ids: () => [...all.values()].map(({ id }) => id),
  };
}

function keyOf({ account, region, namespace, name, dimensions }: MetricId): string {
  const sorted = Object.entries(dimensions).sort(([a], [b]) => (a < b ? -1 : 1));
  return JSON.stringify([account, region, namespace, name, sorted]);
}

/** One value per period that has samples, by the start of the period. Periods begin at multiples of their length, as in CloudWatch. */
export function byPeriod({
  samples,
  periodSeconds,
  statistic,
}: {
  samples: readonly Sample[];
  periodSeconds: number;
  /** Such as `Sum` or `p99`. */
  statistic: string;
}): Map<number, number> {
  const periodMs = periodSeconds * 1000;
  const values = Map.groupBy(samples, ({ atMs }) => Math.floor(atMs / periodMs) * periodMs);
  return new Map([...values].map(([startMs, each]) => [startMs, reduce(each, statistic)]));
}

function reduce(samples: readonly Sample[], statistic: string): number {
  const values = samples.map(({ value }) => value).sort((a, b) => a - b);
  const sum = values.reduce((total, value) => total + value, 0);
  const [, percent] = /^p(\d+(?:\.\d+)?)$/.exec(statistic) ?? [];
  if (percent !== undefined) return values[Math.max(0, Math.ceil((Number(percent) / 100) * values.length) - 1)] ?? 0;
  switch (statistic) {
    case "Sum":
      return sum;
    case "Average":
      return sum / values.length;
    case "Minimum":
      return values[0] ?? 0;
    case "Maximum":
      return values.at(-1) ?? 0;
    case "SampleCount":
      return values.length;
  }
  throw new Error(`The rehearsal does not know the statistic ${statistic}.`);
}
