/** Who measures what: the metrics that AWS keeps of functions, queues and the entry, and those that functions write into their logs. */
import type { EmfDocument } from "../shared/telemetry/emf-rules.ts";
import type { Metrics } from "./aws/metrics.ts";
import type { Queues } from "./aws/queues.ts";
import type { Resolver } from "./template/resolve.ts";
import type { LambdaFunction } from "./template/wiring.ts";

/** CloudWatch has a value of a queue each minute; a rehearsal is over in less than two. */
const samplePeriodMs = 500;

type Place = { account: string; region: string };

/** https://docs.aws.amazon.com/lambda/latest/dg/monitoring-metrics-types.html */
export function measureFunction({ metrics, fn }: { metrics: Metrics; fn: LambdaFunction }) {
  const { account, region, name: FunctionName } = fn;
  return (name: string, value: number) =>
    metrics.record({ account, region, namespace: "AWS/Lambda", name, dimensions: { FunctionName }, value });
}

/** https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-metrics.html */
export function measureEntry({ metrics, place, apiId }: { metrics: Metrics; place: Place; apiId: string }) {
  const { account, region } = place;
  return ({ status, latencyMs }: { status: number; latencyMs: number }) => {
    const values = {
      Count: 1,
      "4xx": status >= 400 && status < 500 ? 1 : 0,
      "5xx": status >= 500 ? 1 : 0,
      Latency: latencyMs,
    };
    for (const [name, value] of Object.entries(values))
      metrics.record({ account, region, namespace: "AWS/ApiGateway", name, dimensions: { ApiId: apiId }, value });
  };
}

/** Until the returned function is called. https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-available-cloudwatch-metrics.html */
export function sampleQueues({
  metrics,
  resolver,
  queues,
}: {
  metrics: Metrics;
  resolver: Resolver;
  queues: Pick<Queues, "depthOf">;
}): () => void {
  const all = resolver.resources("AWS::SQS::Queue").map((queue) => ({
    account: queue.stack.account,
    region: queue.stack.region,
    arn: resolver.attribute(queue, "Arn"),
    QueueName: resolver.attribute(queue, "QueueName"),
  }));
  const sample = () => {
    for (const { account, region, arn, QueueName } of all) {
      const { visible, notVisible, delayed, oldestSeconds } = queues.depthOf(arn);
      const values = {
        ApproximateNumberOfMessagesVisible: visible,
        // "Reported if in-flight messages exist", unlike the others.
        ...(notVisible > 0 && { ApproximateNumberOfMessagesNotVisible: notVisible }),
        ApproximateNumberOfMessagesDelayed: delayed,
        ApproximateAgeOfOldestMessage: oldestSeconds,
      };
      for (const [name, value] of Object.entries(values))
        metrics.record({ account, region, namespace: "AWS/SQS", name, dimensions: { QueueName }, value });
    }
  };
  const timer = setInterval(sample, samplePeriodMs);
  return () => clearInterval(timer);
}

/** A line in the embedded metric format becomes metrics, as CloudWatch Logs does it. Other lines are none. */
export function measureLine({ metrics, place, line }: { metrics: Metrics; place: Place; line: string }): void {
  if (!line.startsWith("{") || !line.includes('"_aws"')) return;
  const { _aws: metadata, ...root } = JSON.parse(line) as EmfDocument;
  const { account, region } = place;
  for (const { Namespace: namespace, Dimensions, Metrics } of metadata.CloudWatchMetrics)
    for (const { Name: name } of Metrics)
      for (const value of [root[name]].flat())
        for (const set of Dimensions) {
          const dimensions = Object.fromEntries(set.map((key) => [key, String(root[key])]));
          const atMs = metadata.Timestamp;
          metrics.record({ account, region, namespace, name, dimensions, value: Number(value), atMs });
        }
}
