/** A batch of SQS, all messages at once: which of them are finished, and which must come again. */

import { ChangeMessageVisibilityCommand, type SQSClient } from "@aws-sdk/client-sqs";
import * as z from "zod";
import { operatorAlias } from "../../shared/config/operator-alias.ts";
import { remainingDelayMs } from "../../shared/engine/aws/chained-delay.ts";
import { callLimits } from "../../shared/engine/aws/client.ts";
import type { TaskQueue } from "../../shared/engine/ports.ts";
import type { Log } from "../../shared/log.ts";
import { readQueuedIds } from "../../shared/queued-ids.ts";
import { errorKind } from "../../shared/telemetry/error-kind.ts";

/** https://docs.aws.amazon.com/lambda/latest/dg/with-sqs.html, "Example standard queue message event". */
const recordSchema = z
  .object({
    messageId: z.string(),
    receiptHandle: z.string(),
    /** Which queue it comes from. */
    eventSourceARN: z.string().optional(),
    body: z.string(),
    attributes: z.object({ ApproximateReceiveCount: z.coerce.number(), MessageGroupId: z.string().optional() }),
    messageAttributes: z.record(z.string(), z.object({ stringValue: z.string().optional() })).default({}),
  })
  .transform(({ attributes, ...record }) => ({
    ...record,
    receiveCount: attributes.ApproximateReceiveCount,
    group: attributes.MessageGroupId,
  }));
const eventSchema = z.object({ Records: z.array(recordSchema) });

export type SqsRecord = z.infer<typeof recordSchema>;
export type BatchResponse = { batchItemFailures: { itemIdentifier: string }[] };

/** Throws for what is no event of SQS. */
export function parseBatch(event: unknown): readonly SqsRecord[] {
  return eventSchema.parse(event).Records;
}

/**
 * Never rejects: one message's failure is its own, and the others are finished. A message that is not due yet is sent on
 * into `queue`, with what is left of its delay, and finished. `failed` hears of each failure, so that it can see to when
 * the message comes again.
 */
export async function handleBatch({
  batch,
  handle,
  failed = async () => {},
  queue,
  log,
  now = Date.now,
}: {
  batch: readonly SqsRecord[];
  handle: (record: SqsRecord) => Promise<void>;
  failed?: (record: SqsRecord, reason: unknown) => Promise<void>;
  queue: TaskQueue;
  log: Log;
  now?: () => number;
}): Promise<BatchResponse> {
  async function handleOne(record: SqsRecord): Promise<void> {
    const { body, group, messageAttributes } = record;
    const delayMs = remainingDelayMs({ attributes: messageAttributes, nowMs: now() });
    if (delayMs > 0) return queue.send({ body, delayMs, ...(group === undefined ? {} : { group }) });
    await handle(record);
  }

  const results = await Promise.allSettled(batch.map(handleOne));
  const failures = batch.flatMap((record, index) => {
    const result = results[index];
    if (result?.status !== "rejected") return [];
    const { body } = record;
    const { reason }: { reason: unknown } = result;
    const causeKind = errorKind(reason);
    log.warn("queue_message_failed", { ...readQueuedIds(body), cause_kind: causeKind, attempt: record.receiveCount });
    return [{ record, reason }];
  });
  await Promise.all(failures.map(({ record, reason }) => failed(record, reason)));
  return { batchItemFailures: failures.map(({ record }) => ({ itemIdentifier: record.messageId })) };
}

/**
 * When a failed message comes again: soon, and later each time, instead of after the queue's long visibility timeout. The first after 5 s, each further one after twice as long, up to five minutes.
 */
export function retryDelaySeconds({ receiveCount }: { receiveCount: number }): number {
  return Math.min(300, 5 * 2 ** Math.min(Math.max(receiveCount - 1, 0), 20));
}

/** Best effort: where it fails, the visibility timeout holds. */
export function createRetryLater({
  client,
  queueUrl,
  log,
  now = Date.now,
}: {
  client: SQSClient;
  queueUrl: string;
  log: Log;
  now?: () => number;
}) {
  return async ({
    body,
    receiptHandle,
    receiveCount,
    notBeforeMs,
  }: {
    body: string;
    receiptHandle: string;
    receiveCount: number;
    /** Until then the message would only meet the lease of its own step, and be replaced by one that counts from nothing. */
    notBeforeMs: number;
  }): Promise<void> => {
    const command = new ChangeMessageVisibilityCommand({
      QueueUrl: queueUrl,
      ReceiptHandle: receiptHandle,
      VisibilityTimeout: Math.max(retryDelaySeconds({ receiveCount }), Math.ceil((notBeforeMs - now()) / 1000) + 1),
    });
    try {
      await client.send(command, callLimits());
    } catch (error) {
      const kind = errorKind(error);
      log.warn("queue_retry_failed", { ...readQueuedIds(body), cause_kind: kind });
    }
  };
}

/** What Lambda says of one invocation. */
export type InvocationContext = {
  getRemainingTimeInMillis(): number;
  /** As the caller named the function: with the alias, where one was invoked. */
  invokedFunctionArn: string;
};

export function isOperatorInvocation({ invokedFunctionArn }: Pick<InvocationContext, "invokedFunctionArn">): boolean {
  return invokedFunctionArn.endsWith(`:${operatorAlias}`);
}

/** What writing down how far acts came may take before Lambda ends the function. */
const settleMs = 5000;

/** The signal aborts shortly before the function's time is over; `done` lets go of the timer. */
export function endingSignal({ context }: { context: Pick<InvocationContext, "getRemainingTimeInMillis"> }): {
  signal: AbortSignal;
  done(): void;
} {
  const ending = new AbortController();
  const timer = setTimeout(() => ending.abort(), Math.max(0, context.getRemainingTimeInMillis() - settleMs));
  return { signal: ending.signal, done: () => clearTimeout(timer) };
}
