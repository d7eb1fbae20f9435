/** Holds the number of series down, whatever comes as the value of a label. */

type Labels = Readonly<Record<string, string>>;

/** No value of ours is longer or has other characters; names of destinations are of this form too. */
const plain = /^[\w.:-]{1,64}$/;
const other = "other";

/**
 * The labels under which a value is counted: each is `other` where it is no plain name, and all of them are where the metric
 * has `maxSeries` combinations already. So nothing that a peer says can grow what is kept, or show what it said.
 */
export function createMetricBound({
  maxSeries = 200,
}: {
  maxSeries?: number;
} = {}): (name: string, labels: Labels) => Labels {
  const known = new Map<string, Set<string>>();
  return (name, labels) => {
    const plainLabels = withValues(labels, (value) => (plain.test(value) ? value : other));
    const key = JSON.stringify(Object.values(plainLabels));
    const series = known.get(name) ?? new Set();
    known.set(name, series);
    if (!series.has(key) && series.size >= maxSeries) return withValues(labels, () => other);
    series.add(key);
    return plainLabels;
  };
}

function withValues(labels: Labels, change: (value: string) => string): Labels {
  return Object.fromEntries(Object.entries(labels).map(([label, value]) => [label, change(value)]));
}
