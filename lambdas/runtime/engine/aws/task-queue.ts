/** A task queue in a standard queue of SQS: sends, and receives for processes without a Lambda event source. */
import type { Message, ReceiveMessageRequest } from "@aws-sdk/client-sqs";
import { SekishoError } from "@sekisho/contracts/errors.ts";
import type { QueueConsumer, ReceivedMessage, TaskQueue } from "../ports.ts";
import type { Sqs } from "./client.ts";
import { createDelayFields, escapeSqsText, remainingDelayMs } from "./sqs-message.ts";

const maxBodyBytes = 256 * 1024;
/** SQS's limits for one receive. */
const maxPerReceive = 10;
const maxWaitMs = 20_000;
/** The form of a MessageGroupId. A group in any other form is left out, because delivery matters more than fairness. */
const groupPattern = /^[!-~]{1,128}$/;

/**
 * `send` throws `payload_too_large`, or the client's error; the message may be queued then. Times are rounded up to seconds. `signal` ends a send; `maxDelayMs` is for tests.
 */
export function createSqsQueue(options: {
  client: Sqs;
  queueUrl: string;
  signal?: AbortSignal;
  now?: () => number;
  maxDelayMs?: number;
}): TaskQueue & QueueConsumer {
  const { client, queueUrl: QueueUrl, signal: endSignal, now = Date.now, maxDelayMs } = options;
  const chain = maxDelayMs === undefined ? {} : { maxDelayMs };

  const send: TaskQueue["send"] = async ({ body, delayMs = 0, group = "" }) => {
    if (Buffer.byteLength(body) > maxBodyBytes) throw new SekishoError("payload_too_large");
    const input = {
      QueueUrl,
      MessageBody: escapeSqsText(body),
      ...createDelayFields({ delayMs, nowMs: now(), ...chain }),
      ...(groupPattern.test(group) ? { MessageGroupId: group } : {}),
    };
    await client.call("SendMessage", input, { signal: endSignal });
  };

  async function remove(ReceiptHandle: string): Promise<void> {
    await client.call("DeleteMessage", { QueueUrl, ReceiptHandle });
  }

  /** Sends an early message again with the rest of its delay. Resolves to whether it did. */
  async function forwardIfEarly({
    Body: body = "",
    ReceiptHandle = "",
    Attributes,
    MessageAttributes,
  }: Message) {
    const delayMs = remainingDelayMs({ attributes: MessageAttributes, nowMs: now() });
    if (delayMs === 0) return false;
    await send({ body, delayMs, group: Attributes?.MessageGroupId ?? "" });
    await remove(ReceiptHandle);
    return true;
  }

  return {
    send,

    async receive({ max, visibilityTimeoutMs, waitMs, signal }) {
      const endAtMs = now() + waitMs;
      for (;;) {
        const pollMs = roundUpToSeconds(Math.min(maxWaitMs, Math.max(0, endAtMs - now())));
        const input: ReceiveMessageRequest = {
          QueueUrl,
          MessageSystemAttributeNames: [
            "ApproximateReceiveCount",
            "SentTimestamp",
            "MessageGroupId",
          ],
          MessageAttributeNames: ["All"],
          MaxNumberOfMessages: Math.min(max, maxPerReceive),
          VisibilityTimeout: Math.ceil(visibilityTimeoutMs / 1000),
          WaitTimeSeconds: pollMs / 1000,
        };
        const { Messages = [] } = await client
          .call("ReceiveMessage", input, { signal, waitMs: pollMs })
          .catch(catchAbort);
        const voidAtMs = now() + visibilityTimeoutMs;
        const isEarly = await Promise.all(Messages.map(forwardIfEarly));
        const due = Messages.filter((_, number) => isEarly[number] === false);
        if (due.length > 0 || signal?.aborted || now() >= endAtMs) {
          return due.map((message) => toReceivedMessage({ message, voidAtMs }));
        }
      }

      function catchAbort(error: unknown): { Messages?: Message[] } {
        if (signal?.aborted) return {};
        throw error;
      }
    },

    /** SQS does not report a void receipt, so ours includes the time until which it is valid. */
    async finish({ receipt }) {
      const [, voidAtMs, handle] = /^(\d+)\.(.+)$/s.exec(receipt) ?? [];
      if (handle === undefined || now() >= Number(voidAtMs)) return false;
      await remove(handle);
      return true;
    },
  };
}

function roundUpToSeconds(ms: number): number {
  return Math.ceil(ms / 1000) * 1000;
}

function toReceivedMessage({
  message,
  voidAtMs,
}: {
  message: Message;
  voidAtMs: number;
}): ReceivedMessage {
  const { Body = "", ReceiptHandle, Attributes } = message;
  return {
    body: Body,
    receipt: `${voidAtMs}.${ReceiptHandle}`,
    receiveCount: Number(Attributes?.ApproximateReceiveCount),
    sentAtMs: Number(Attributes?.SentTimestamp),
  };
}
