/** CloudWatch's metrics of a rehearsal: what AWS measures of functions, queues and the entry, and what functions write into their logs. */
import type { EmfDocument } from "../../../runtime/telemetry/emf-rules.ts";
import type { Resolver } from "../template/resolve.ts";
import type { LambdaFunction } from "../template/wiring.ts";
import type { Queues } from "./queues.ts";

export type MetricId = {
  account: string;
  region: string;
  namespace: string;
  name: string;
  dimensions: Readonly<Record<string, string>>;
};

export type Sample = { atMs: number; value: number };

/** Includes both ends. */
export type Window = { fromMs?: number; toMs?: number };

export type Metrics = ReturnType<typeof createMetrics>;

export function createMetrics({ now = Date.now }: { now?: () => number } = {}) {
  const all = new Map<string, { id: MetricId; samples: Sample[] }>();
  let firstMs: number | undefined;
  return {
    /** Returns the time of the first sample, or the current time if there is none. */
    firstMs: () => firstMs ?? now(),
    record({ value, atMs = now(), ...id }: MetricId & { value: number; atMs?: number }): void {
      firstMs = Math.min(atMs, firstMs ?? atMs);
      const key = keyOf(id);
      const metric = all.get(key) ?? { id, samples: [] };
      all.set(key, metric);
      metric.samples.push({ atMs, value });
    },
    /** Returns the samples in the order in which they were recorded. */
    samples(
      id: MetricId,
      { fromMs = Number.NEGATIVE_INFINITY, toMs = Number.POSITIVE_INFINITY }: Window = {},
    ): Sample[] {
      const samples = all.get(keyOf(id))?.samples ?? [];
      return samples.filter(({ atMs }) => atMs >= fromMs && atMs <= toMs);
    },
    /** Returns every metric that has a sample. */
    ids: () => [...all.values()].map(({ id }) => id),
  };
}

function keyOf({ account, region, namespace, name, dimensions }: MetricId): string {
  const sorted = Object.entries(dimensions).sort(([a], [b]) => (a < b ? -1 : 1));
  return JSON.stringify([account, region, namespace, name, sorted]);
}

/** Returns one value per period that has samples, by the start of the period. Periods begin at multiples of their length, as in CloudWatch. */
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
  const [, percent] = /^p(\d+(?:\.\d+)?)$/.exec(statistic) ?? [];
  if (percent !== undefined)
    return values[Math.max(0, Math.ceil((Number(percent) / 100) * values.length) - 1)] ?? 0;
  if (statistic === "Sum") return values.reduce((total, value) => total + value, 0);
  if (statistic === "Maximum") return values.at(-1) ?? 0;
  throw new Error(`The rehearsal does not know the statistic ${statistic}.`);
}

/** CloudWatch gets a value of a queue each minute, but a rehearsal ends in less than two. */
const samplePeriodMs = 500;

type Place = Pick<MetricId, "account" | "region">;

/** https://docs.aws.amazon.com/lambda/latest/dg/monitoring-metrics-types.html */
export function measureFunction({ metrics, fn }: { metrics: Metrics; fn: LambdaFunction }) {
  const { account, region, name: FunctionName } = fn;
  return (name: string, value: number) =>
    metrics.record({
      account,
      region,
      namespace: "AWS/Lambda",
      name,
      dimensions: { FunctionName },
      value,
    });
}

/** https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-metrics.html */
export function measureEntry({
  metrics,
  place,
  apiId,
}: {
  metrics: Metrics;
  place: Place;
  apiId: string;
}) {
  const { account, region } = place;
  return ({ status, latencyMs }: { status: number; latencyMs: number }) => {
    const values = {
      Count: 1,
      "4xx": status >= 400 && status < 500 ? 1 : 0,
      "5xx": status >= 500 ? 1 : 0,
      Latency: latencyMs,
    };
    for (const [name, value] of Object.entries(values))
      metrics.record({
        account,
        region,
        namespace: "AWS/ApiGateway",
        name,
        dimensions: { ApiId: apiId },
        value,
      });
  };
}

/** Samples the queues until the returned function is called. https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-available-cloudwatch-metrics.html */
export function sampleQueues({
  metrics,
  resolver,
  queues,
}: {
  metrics: Metrics;
  resolver: Resolver;
  queues: Pick<Queues, "depthOf">;
}): () => void {
  const all = resolver
    .resources("AWS::SQS::Queue")
    .map(({ stack: { account, region }, arn, attribute }) => ({
      account,
      region,
      arn,
      QueueName: attribute("QueueName"),
    }));
  const sample = () => {
    for (const { account, region, arn, QueueName } of all) {
      const { visible, notVisible, delayed, oldestSeconds } = queues.depthOf(arn);
      const values = {
        ApproximateNumberOfMessagesVisible: visible,
        // AWS: "Reported if in-flight messages exist", unlike the others.
        ...(notVisible > 0 && { ApproximateNumberOfMessagesNotVisible: notVisible }),
        ApproximateNumberOfMessagesDelayed: delayed,
        ApproximateAgeOfOldestMessage: oldestSeconds,
      };
      for (const [name, value] of Object.entries(values))
        metrics.record({
          account,
          region,
          namespace: "AWS/SQS",
          name,
          dimensions: { QueueName },
          value,
        });
    }
  };
  const timer = setInterval(sample, samplePeriodMs);
  return () => clearInterval(timer);
}

/** Records the metrics of a line in the embedded metric format, as CloudWatch Logs does. Ignores other lines. */
export function measureLine({
  metrics,
  place,
  line,
}: {
  metrics: Metrics;
  place: Place;
  line: string;
}): void {
  if (!line.startsWith("{") || !line.includes('"_aws"')) return;
  const { _aws: metadata, ...root } = JSON.parse(line) as EmfDocument;
  const { account, region } = place;
  for (const { Namespace: namespace, Dimensions, Metrics } of metadata.CloudWatchMetrics)
    for (const { Name: name } of Metrics)
      for (const value of [root[name]].flat())
        for (const set of Dimensions) {
          const dimensions = Object.fromEntries(set.map((key) => [key, String(root[key])]));
          const atMs = metadata.Timestamp;
          metrics.record({
            account,
            region,
            namespace,
            name,
            dimensions,
            value: Number(value),
            atMs,
          });
        }
}
