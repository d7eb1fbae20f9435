/** The archive queue of dead letters: read without losing anything, since a queue can only be read by receiving from it. */
import {
  ChangeMessageVisibilityBatchCommand,
  DeleteMessageCommand,
  type Message,
  ReceiveMessageCommand,
  SQSClient,
} from "@aws-sdk/client-sqs";
import { type QueueMessage, queueMessageSchema } from "../../../../lambdas/verification/task/messages.ts";
import { callAws } from "../aws-failure.ts";

/** So long nobody else sees what is being looked at; whatever happens, it is there again afterwards. */
const hiddenSeconds = 300;
const waitSeconds = 1;
const batchSize = 10;

export type DeadLetter = {
  messageId: string;
  receipt: string;
  body: string;
  /** The message group: whose turn it is among tenants. */
  group: string | undefined;
  archivedAtMs: number;
};

type Archive = { queueUrl: string; region: string; signal: AbortSignal };

/**
 * Gives all messages of the archive to `work`, with what removes one for good. All others can be received again afterwards,
 * also where `work` rejects.
 */
export async function withDeadLetters(
  { queueUrl, region, signal }: Archive,
  work: (letters: readonly DeadLetter[], remove: (letter: DeadLetter) => Promise<void>) => Promise<void>,
): Promise<void> {
  const sqs = new SQSClient({ region, useQueueUrlAsEndpoint: false });
  const letters = new Map<string, DeadLetter>();
  try {
    await receiveAll({ sqs, queueUrl, signal, letters });
    await work([...letters.values()], async ({ messageId, receipt }) => {
      await callAws({
        doing: "remove a message from the archive of dead letters",
        signal,
        call: (options) => sqs.send(new DeleteMessageCommand({ QueueUrl: queueUrl, ReceiptHandle: receipt }), options),
      });
      letters.delete(messageId);
    });
  } finally {
    await release({ sqs, queueUrl, letters: [...letters.values()] });
  }
}

async function receiveAll({
  sqs,
  queueUrl,
  signal,
  letters,
}: {
  sqs: SQSClient;
  queueUrl: string;
  signal: AbortSignal;
  letters: Map<string, DeadLetter>;
}): Promise<void> {
  const input = {
    QueueUrl: queueUrl,
    MaxNumberOfMessages: batchSize,
    VisibilityTimeout: hiddenSeconds,
    WaitTimeSeconds: waitSeconds,
    MessageSystemAttributeNames: ["SentTimestamp", "MessageGroupId"] as ("SentTimestamp" | "MessageGroupId")[],
  };
  for (;;) {
    const { Messages = [] } = await callAws({
      doing: "read the archive of dead letters",
      signal,
      call: (options) => sqs.send(new ReceiveMessageCommand(input), options),
    });
    const known = letters.size;
    for (const message of Messages) letters.set(message.MessageId ?? "", letterOf(message));
    // Nothing more, or only what was seen already: it has been hidden for too long by now.
    if (letters.size === known) return;
  }
}

/** Best effort, and also when the person has interrupted: what fails is there again after `hiddenSeconds`. */
async function release({
  sqs,
  queueUrl,
  letters,
}: {
  sqs: SQSClient;
  queueUrl: string;
  letters: DeadLetter[];
}): Promise<void> {
  const signal = new AbortController().signal;
  for (let from = 0; from < letters.length; from += batchSize) {
    const Entries = letters
      .slice(from, from + batchSize)
      .map(({ receipt }, index) => ({ Id: String(index), ReceiptHandle: receipt, VisibilityTimeout: 0 }));
    const command = new ChangeMessageVisibilityBatchCommand({ QueueUrl: queueUrl, Entries });
    const call = (options: { abortSignal: AbortSignal }) => sqs.send(command, options);
    await callAws({ doing: "show dead letters again", signal, call }).catch(() => {});
  }
}

function letterOf({ MessageId = "", ReceiptHandle = "", Body = "", Attributes = {} }: Message): DeadLetter {
  const { MessageGroupId: group, SentTimestamp } = Attributes;
  return { messageId: MessageId, receipt: ReceiptHandle, body: Body, group, archivedAtMs: Number(SentTimestamp) };
}

// What a dead letter is about: ids, kind and times; its text is nobody's business here.

export type ReadLetter = DeadLetter & { message: QueueMessage | undefined };

/** `message` is undefined where the body is none of ours. */
export function readLetter(letter: DeadLetter): ReadLetter {
  try {
    return { ...letter, message: queueMessageSchema.parse(JSON.parse(letter.body)) };
  } catch {
    return { ...letter, message: undefined };
  }
}

/** The tenant in whose turn it is moved. */
export function readTenant({ group, message }: ReadLetter): string | undefined {
  return group ?? (message?.type === "ask" ? message.message.team : undefined);
}
