/** Handles a batch of SQS messages on AWS Lambda: reports the failed ones, and sets when they are delivered again. */

import * as z from "zod";
import { createDeadline } from "../../async/deadline.ts";
import { errorKind } from "../../error-kind.ts";
import type { Log, LogFields } from "../../log.ts";
import type { TaskQueue } from "../ports.ts";
import type { Sqs } from "./client.ts";
import { remainingDelayMs } from "./sqs-message.ts";

/** https://docs.aws.amazon.com/lambda/latest/dg/with-sqs.html, "Example standard queue message event". */
const recordSchema = z
  .object({
    messageId: z.string(),
    receiptHandle: z.string(),
    /** The queue's ARN. */
    eventSourceARN: z.string().optional(),
    body: z.string(),
    attributes: z.object({
      ApproximateReceiveCount: z.coerce.number(),
      MessageGroupId: z.string().optional(),
    }),
    messageAttributes: z
      .record(z.string(), z.object({ stringValue: z.string().optional() }))
      .default({}),
  })
  .transform(({ attributes, ...record }) => ({
    ...record,
    receiveCount: attributes.ApproximateReceiveCount,
    group: attributes.MessageGroupId,
  }));
const eventSchema = z.object({ Records: z.array(recordSchema) });

export type SqsRecord = z.infer<typeof recordSchema>;
export type BatchResponse = { batchItemFailures: { itemIdentifier: string }[] };

/** Throws if the event is not from SQS. */
export function parseBatch(event: unknown): readonly SqsRecord[] {
  return eventSchema.parse(event).Records;
}

/**
 * Handles all messages at once and never rejects, because a failed message must not fail the others. A message that is not due yet is sent
 * to `queue` again with the rest of its delay; without `queue`, it is handled early. `failed` is called for each failure, to set when the
 * message is delivered again.
 */
export async function handleBatch(request: {
  batch: readonly SqsRecord[];
  handle: (record: SqsRecord) => Promise<void>;
  onFailure?: (record: SqsRecord, reason: unknown) => Promise<void>;
  queue?: TaskQueue | undefined;
  /** Finds the ids of a message for its log lines. Must not throw. */
  idsOf: (body: string) => LogFields;
  log: Log;
  now?: () => number;
}): Promise<BatchResponse> {
  const { batch, handle, onFailure = async () => {}, queue, idsOf, log, now = Date.now } = request;
  async function handleOne(record: SqsRecord): Promise<void> {
    const { body, group, messageAttributes } = record;
    const delayMs = remainingDelayMs({ attributes: messageAttributes, nowMs: now() });
    if (delayMs > 0 && queue)
      return queue.send({ body, delayMs, ...(group === undefined ? {} : { group }) });
    await handle(record);
  }

  const results = await Promise.allSettled(batch.map(handleOne));
  const failures = batch.flatMap((record, index) => {
    const result = results[index];
    if (result?.status !== "rejected") return [];
    const { reason }: { reason: unknown } = result;
    const fields = { cause_kind: errorKind(reason), attempt: record.receiveCount };
    log.warn("queue_message_failed", { ...idsOf(record.body), ...fields });
    return [{ record, reason }];
  });
  await Promise.all(failures.map(({ record, reason }) => onFailure(record, reason)));
  return {
    batchItemFailures: failures.map(({ record }) => ({ itemIdentifier: record.messageId })),
  };
}

/** Replaces the queue's long visibility timeout for a failed message: 5 s at first, then doubling up to five minutes. */
export function retryDelaySeconds({ receiveCount }: { receiveCount: number }): number {
  return Math.min(300, 5 * 2 ** Math.min(Math.max(receiveCount - 1, 0), 20));
}

/** Creates the function that sets a failed message's visibility timeout. Best effort: if it fails, the queue's own timeout applies. */
export function createRetryLater(options: {
  client: Sqs;
  queueUrl: string;
  /** Finds the ids of a message for its log lines. Must not throw. */
  idsOf: (body: string) => LogFields;
  log: Log;
  now?: () => number;
}) {
  const { client, queueUrl, idsOf, log, now = Date.now } = options;
  return async (request: {
    body: string;
    receiptHandle: string;
    receiveCount: number;
    /** The end of the failed step's lease. A message that comes earlier is replaced by a copy, whose receive count starts at 1 again. */
    notBeforeMs: number;
  }): Promise<void> => {
    const { body, receiptHandle, receiveCount, notBeforeMs } = request;
    try {
      await client.call("ChangeMessageVisibility", {
        QueueUrl: queueUrl,
        ReceiptHandle: receiptHandle,
        VisibilityTimeout: Math.max(
          retryDelaySeconds({ receiveCount }),
          Math.ceil((notBeforeMs - now()) / 1000) + 1,
        ),
      });
    } catch (error) {
      const kind = errorKind(error);
      log.warn("queue_retry_failed", { ...idsOf(body), cause_kind: kind });
    }
  };
}

export type InvocationContext = {
  getRemainingTimeInMillis(): number;
  /** The ARN that the caller invoked, including an alias if the caller used one. */
  invokedFunctionArn: string;
};

/** Creates a signal that aborts shortly before the function times out, in time to store what was done. `end` clears the timer. */
export function endingSignal(request: {
  context: Pick<InvocationContext, "getRemainingTimeInMillis">;
  reserveMs?: number;
}): { signal: AbortSignal; end(): void } {
  const { context, reserveMs = 5000 } = request;
  return createDeadline({ timeoutMs: context.getRemainingTimeInMillis() - reserveMs });
}
