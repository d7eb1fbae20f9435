/** Which metrics have no values because nothing happens. */
import { queuesWithoutConsumer } from "../../cdk/names.ts";
import type { WatchedMetric } from "./alarms.ts";
import type { StackResource } from "./stack-resources.ts";

/**
 * Lambda has no values of a function that nothing invokes. SQS has none of a queue that nobody has called for six hours: a queue
 * that a function polls always has values, one that only keeps messages has none on most days.
 */
export function createIsIdle({
  functions,
  queues,
}: {
  /** The names of the functions that nothing has invoked. */
  functions: readonly string[];
  /** All queues of the stack. */
  queues: readonly StackResource[];
}): (metric: WatchedMetric) => boolean {
  const names = new Set(
    queues
      .filter(({ logicalId }) => queuesWithoutConsumer.some((id) => id === withoutHash(logicalId)))
      // The physical id of a queue is its URL.
      .map(({ physicalId }) => physicalId.split("/").at(-1) ?? ""),
  );
  return ({ namespace, dimensions: { FunctionName = "", QueueName = "" } }) =>
    (namespace === "AWS/Lambda" && functions.includes(FunctionName)) ||
    (namespace === "AWS/SQS" && names.has(QueueName));
}

function withoutHash(logicalId: string): string {
  return logicalId.replace(/[0-9A-F]{8}$/, "");
}
