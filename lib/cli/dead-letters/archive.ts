/** Reads the archive queue of dead letters. Receiving is the only way to read a queue, so the messages are released afterwards. */
import {
  ChangeMessageVisibilityBatchCommand,
  DeleteMessageCommand,
  type Message,
  ReceiveMessageCommand,
  SQSClient,
} from "@aws-sdk/client-sqs";
import { sdkUserAgent } from "@sekisho/runtime/version.ts";
import { parseQueueMessage, type QueueMessage } from "@sekisho/verification/task/messages.ts";
import { type AwsCall, callAws } from "../aws/aws-failure.ts";

/** A received message is hidden from others for this long. Then it is visible again, even if this process died. */
const hiddenSeconds = 300;
const batchSize = 10;

export type DeadLetter = {
  messageId: string;
  receipt: string;
  body: string;
  /** The message group, by which SQS serves tenants fairly. */
  group: string | undefined;
  archivedAtMs: number;
};

/**
 * Gives all messages of the archive to `work`, with a function that deletes one. The others become visible again afterwards,
 * even if `work` rejects.
 */
export async function withDeadLetters(
  { queueUrl, region, signal }: AwsCall & { queueUrl: string },
  work: (
    deadLetters: readonly DeadLetter[],
    remove: (deadLetter: DeadLetter) => Promise<void>,
  ) => Promise<void>,
): Promise<void> {
  const sqs = new SQSClient({
    region,
    customUserAgent: sdkUserAgent,
    useQueueUrlAsEndpoint: false,
  });
  const deadLetters = new Map<string, DeadLetter>();

  async function receiveAll(): Promise<void> {
    const command = new ReceiveMessageCommand({
      QueueUrl: queueUrl,
      MaxNumberOfMessages: batchSize,
      VisibilityTimeout: hiddenSeconds,
      WaitTimeSeconds: 1,
      MessageSystemAttributeNames: ["SentTimestamp", "MessageGroupId"],
    });
    for (;;) {
      const { Messages = [] } = await callAws({
        doing: "read the archive of dead letters",
        signal,
        call: (options) => sqs.send(command, options),
      });
      const countBefore = deadLetters.size;
      for (const message of Messages)
        deadLetters.set(message.MessageId ?? "", toDeadLetter(message));
      // The queue is empty, or its first messages have become visible again.
      if (deadLetters.size === countBefore) return;
    }
  }

  /** Also runs after an interrupt. Where it fails, the messages are visible again after `hiddenSeconds`. */
  async function release(): Promise<void> {
    const receipts = [...deadLetters.values()].map(({ receipt }) => receipt);
    for (let from = 0; from < receipts.length; from += batchSize) {
      const Entries = receipts.slice(from, from + batchSize).map((receipt, index) => {
        return { Id: String(index), ReceiptHandle: receipt, VisibilityTimeout: 0 };
      });
      const command = new ChangeMessageVisibilityBatchCommand({ QueueUrl: queueUrl, Entries });
      await callAws({
        doing: "show dead letters again",
        signal: new AbortController().signal,
        call: (options) => sqs.send(command, options),
      }).catch(() => {});
    }
  }

  try {
    await receiveAll();
    await work([...deadLetters.values()], async ({ messageId, receipt }) => {
      await callAws({
        doing: "remove a message from the archive of dead letters",
        signal,
        call: (options) =>
          sqs.send(
            new DeleteMessageCommand({ QueueUrl: queueUrl, ReceiptHandle: receipt }),
            options,
          ),
      });
      deadLetters.delete(messageId);
    });
  } finally {
    await release();
  }
}

function toDeadLetter({
  MessageId = "",
  ReceiptHandle = "",
  Body = "",
  Attributes = {},
}: Message): DeadLetter {
  const { MessageGroupId: group, SentTimestamp } = Attributes;
  return {
    messageId: MessageId,
    receipt: ReceiptHandle,
    body: Body,
    group,
    archivedAtMs: Number(SentTimestamp),
  };
}

export type ParsedDeadLetter = DeadLetter & { message: QueueMessage | undefined };

/** `message` is undefined if the body is not a queue message of this version. */
export function parseDeadLetter(deadLetter: DeadLetter): ParsedDeadLetter {
  return { ...deadLetter, message: parseQueueMessage(deadLetter.body) };
}
