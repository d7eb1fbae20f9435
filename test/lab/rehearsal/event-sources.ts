/** Event source mappings. They receive messages, invoke the function with batches, and delete the messages, as Lambda does. */
import { setTimeout as wait } from "node:timers/promises";
import { createJsonClient } from "@sekisho/runtime/aws/json-call.ts";
import type { Caller } from "./aws/callers.ts";
import type { RunningFunction } from "./lambda/function.ts";
import type { Outcome } from "./lambda/instance.ts";
import type { EventSource } from "./template/wiring.ts";

type Message = {
  MessageId: string;
  ReceiptHandle: string;
  Body: string;
  MD5OfBody: string;
  Attributes?: Record<string, string>;
  MessageAttributes?: Record<string, { StringValue?: string; DataType: string }>;
};

type CallSqs = (
  operation: string,
  input: Record<string, unknown>,
) => Promise<Record<string, unknown>>;

/** May change at any time. */
export type Pace = { mostBatches: number };

const pollSeconds = 1;
/** Longer than the clock ever moves. A receive that ended because the clock moved would hide messages for nothing. */
const longestCallMs = 2 ** 31 - 1;
const longestBatch = 10;
/** The delay before the next attempt to invoke a throttled function. It doubles each time. AWS does not publish its own. */
const firstThrottleDelayMs = 100;
const longestThrottleDelayMs = 2000;

/** Receives messages under the function's role until `signal` aborts. Resolves when the last batch is over. */
export async function pollQueue({
  source,
  queueUrl,
  target,
  caller,
  gatewayUrl,
  pace,
  signal,
  onProblem,
}: {
  source: EventSource;
  queueUrl: string;
  target: RunningFunction;
  caller: Caller;
  gatewayUrl: string;
  /** A second bound of concurrent batches, beside that of the mapping. */
  pace: Pace;
  signal: AbortSignal;
  onProblem: (problem: string) => void;
}): Promise<void> {
  const client = createJsonClient({
    service: "sqs",
    region: caller.region,
    credentials: async () => caller.credentials,
    endpointOf: () => new URL(gatewayUrl),
    timeoutMs: longestCallMs,
    attemptTimeoutMs: longestCallMs,
    maxResponseBytes: 8 * 1024 * 1024,
  });
  const sqs: CallSqs = (operation, input) =>
    client.call(operation, { QueueUrl: queueUrl, ...input }, { signal });
  const underWay = new Set<Promise<void>>();
  while (!signal.aborted) {
    try {
      await sqs("GetQueueAttributes", { AttributeNames: ["All"] });
      break;
    } catch {
      await pause(signal);
    }
  }
  while (!signal.aborted) {
    if (underWay.size >= Math.min(source.maxConcurrency, pace.mostBatches)) {
      await Promise.race(underWay);
      continue;
    }
    try {
      const receivedAtMs = Date.now();
      const requests = await sqs("ReceiveMessage", {
        MaxNumberOfMessages: Math.min(source.batchSize, longestBatch),
        WaitTimeSeconds: pollSeconds,
        AttributeNames: ["All"],
        MessageAttributeNames: ["All"],
      });
      const messages = (requests.Messages ?? []) as Message[];
      if (messages.length === 0) continue;
      const batch: Promise<void> = handOver({
        source,
        target,
        messages,
        receivedAtMs,
        sqs,
        signal,
        onProblem,
      })
        .catch(() => {})
        .finally(() => underWay.delete(batch));
      underWay.add(batch);
    } catch {
      // The gateway has reported the problem. The pause prevents a busy loop.
      await pause(signal);
    }
  }
  await Promise.all(underWay);
}

/** https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-errorhandling.html */
async function handOver({
  source,
  target,
  messages,
  receivedAtMs,
  sqs,
  signal,
  onProblem,
}: {
  source: EventSource;
  target: RunningFunction;
  messages: Message[];
  receivedAtMs: number;
  sqs: CallSqs;
  signal: AbortSignal;
  onProblem: (problem: string) => void;
}): Promise<void> {
  const event = { Records: messages.map((message) => recordOf({ message, source })) };
  const traces = messages.flatMap(({ Attributes }) => Attributes?.AWSTraceHeader ?? []);
  const dropAtMs = receivedAtMs + source.visibilityMs;
  const outcome = await invokeUnthrottled({ target, event, traces, dropAtMs, signal });
  if (!outcome.ok) return;
  const failed = failuresOf(outcome.payload);
  if (failed.length > 0 && !source.reportsItemFailures) {
    const remedy = "its FunctionResponseTypes lack ReportBatchItemFailures";
    onProblem(
      `${source.label} deletes messages that ${target.fn.label} said had failed: ${remedy}.`,
    );
  }
  const known = messages.map(({ MessageId }) => MessageId);
  // An unknown identifier makes Lambda treat the whole batch as failed.
  if (source.reportsItemFailures && failed.some((id) => !known.includes(id))) return;
  const done = messages.filter(
    ({ MessageId }) => !source.reportsItemFailures || !failed.includes(MessageId),
  );
  await Promise.all(done.map(({ ReceiptHandle }) => sqs("DeleteMessage", { ReceiptHandle })));
}

/**
 * Retries a throttled batch until its messages would be visible again, and then drops it. Its receives count, so that a message can
 * become a dead letter without having reached the function. A maximum concurrency does not prevent that, because other functions of
 * the account can take the concurrency away.
 * https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-errorhandling.html ("Backoff strategy for failed invocations")
 */
async function invokeUnthrottled({
  target,
  event,
  traces,
  dropAtMs,
  signal,
}: {
  target: RunningFunction;
  event: unknown;
  traces: readonly string[];
  dropAtMs: number;
  signal: AbortSignal;
}): Promise<Outcome> {
  for (
    let delayMs = firstThrottleDelayMs;
    ;
    delayMs = Math.min(2 * delayMs, longestThrottleDelayMs)
  ) {
    const outcome = await target.invoke(event, traces);
    if (outcome.ok || !outcome.isThrottled || signal.aborted || Date.now() + delayMs >= dropAtMs)
      return outcome;
    await wait(delayMs, undefined, { signal }).catch(() => {});
  }
}

function failuresOf(payload: unknown): string[] {
  if (typeof payload !== "object" || payload === null || !("batchItemFailures" in payload))
    return [];
  const { batchItemFailures } = payload;
  return Array.isArray(batchItemFailures)
    ? batchItemFailures.map(({ itemIdentifier }) => String(itemIdentifier))
    : [];
}

/** The names in an event begin with a small letter. */
function recordOf({ message, source }: { message: Message; source: EventSource }) {
  const attributes = Object.entries(message.MessageAttributes ?? {}).map(
    ([name, { StringValue, DataType }]) => [
      name,
      { stringValue: StringValue, dataType: DataType, stringListValues: [], binaryListValues: [] },
    ],
  );
  return {
    messageId: message.MessageId,
    receiptHandle: message.ReceiptHandle,
    body: message.Body,
    attributes: message.Attributes ?? {},
    messageAttributes: Object.fromEntries(attributes),
    md5OfBody: message.MD5OfBody,
    eventSource: "aws:sqs",
    eventSourceARN: source.queueArn,
    awsRegion: source.queueArn.split(":")[3],
  };
}

async function pause(signal: AbortSignal): Promise<void> {
  await wait(200, undefined, { signal }).catch(() => {});
}
