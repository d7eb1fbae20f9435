/** When a failed message comes again: soon, and later each time, instead of after the queue's long visibility timeout. */
import { ChangeMessageVisibilityCommand, type SQSClient } from "@aws-sdk/client-sqs";
import { callLimits } from "../../shared/engine/aws/client.ts";
import type { Log } from "../../shared/log.ts";
import { queuedIds } from "../../shared/queued-ids.ts";

/** The first after 5 s, each further one after twice as long, up to five minutes. */
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
      const kind = error instanceof Error ? error.name : typeof error;
      log.warn("queue_retry_failed", { ...queuedIds(body), cause_kind: kind });
    }
  };
}
