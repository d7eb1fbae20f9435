/** A batch of SQS, all messages at once: which of them are finished, and which must come again. */
import * as z from "zod";
import { remainingDelayMs } from "../../shared/engine/aws/chained-delay.ts";
import type { TaskQueue } from "../../shared/engine/ports.ts";
import type { Log } from "../../shared/log.ts";
import { queuedIds } from "../../shared/queued-ids.ts";

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
export function batchOf(event: unknown): readonly SqsRecord[] {
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
    const causeKind = reason instanceof Error ? reason.name : typeof reason;
    log.warn("queue_message_failed", { ...queuedIds(body), cause_kind: causeKind, attempt: record.receiveCount });
    return [{ record, reason }];
  });
  await Promise.all(failures.map(({ record, reason }) => failed(record, reason)));
  return { batchItemFailures: failures.map(({ record }) => ({ itemIdentifier: record.messageId })) };
}
