/** Loops of functions and queues, found by reading the templates: what Lambda's recursive loop detection would stop. */
import type { Authority } from "./iam/authority.ts";
import type { Resolver } from "./template/resolve.ts";
import { type EventSource, type LambdaFunction, record } from "./template/wiring.ts";

/**
 * The functions that consume a queue to which their own messages may lead back: through what their roles may send to, through
 * dead-letter queues, and through other functions.
 */
export function functionsInLoops({
  resolver,
  authority,
  functions,
  sources,
}: {
  resolver: Resolver;
  authority: Authority;
  functions: readonly LambdaFunction[];
  sources: readonly EventSource[];
}): LambdaFunction[] {
  const queues = resolver.resources("AWS::SQS::Queue").map((queue) => ({
    arn: resolver.attribute(queue, "Arn"),
    deadLetters: record(queue.properties.RedrivePolicy).deadLetterTargetArn,
  }));
  /** From each queue and function to where its messages may go next, by ARN. */
  const next = new Map<string, string[]>();
  for (const { arn: functionArn, roleArn, account } of functions) {
    const principal = { type: "role", arn: roleArn, account } as const;
    const maySend = ({ arn: resource }: { arn: string }) =>
      authority.check({ principal, action: "sqs:SendMessage", resource, context: {} }).allowed;
    next.set(
      functionArn,
      queues.filter(maySend).map(({ arn }) => arn),
    );
  }
  for (const { arn, deadLetters } of queues) {
    const consumers = sources.filter(({ queueArn }) => queueArn === arn).map(({ functionArn }) => functionArn);
    next.set(arn, deadLetters === undefined ? consumers : [...consumers, String(deadLetters)]);
  }
  return functions.filter(({ arn }) => reachableFrom(arn, next).has(arn));
}

function reachableFrom(start: string, next: ReadonlyMap<string, string[]>): Set<string> {
  const reached = new Set<string>();
  const open = [...(next.get(start) ?? [])];
  for (let place = open.pop(); place !== undefined; place = open.pop()) {
    if (reached.has(place)) continue;
    reached.add(place);
    open.push(...(next.get(place) ?? []));
  }
  return reached;
}
