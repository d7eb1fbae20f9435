/** The queues of the templates behind the JSON protocol of SQS. */
import { hash } from "node:crypto";
import type { Received } from "../../../doubles/web-server.ts";
import type { Resolver } from "../template/resolve.ts";
import { record } from "../template/wiring.ts";
import { awsFailure } from "./failure.ts";
import type { Backend } from "./gateway.ts";
import {
  createQueue,
  type Delivered,
  type Duplicates,
  type MovedMessage,
  type Queue,
} from "./queue.ts";

export type Queues = ReturnType<typeof createQueues>;

const longestWaitSeconds = 20;
const longestDelaySeconds = 900;
const longestHiddenSeconds = 43_200;
const mostPerReceive = 10;
const maxBytes = 1_048_576;
/** https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SendMessage.html */
const refusedCharacters = /[^\t\n\r\u{20}-\u{D7FF}\u{E000}-\u{FFFD}\u{10000}-\u{10FFFF}]/u;
const defaultVisibilitySeconds = 30;
/** A standard queue may deliver a message twice. Here it does so with every fifth. */
const duplicateEvery = 5;

/** `visibilitySeconds` replaces the value of the templates. */
export function createQueues({
  resolver,
  visibilitySeconds,
}: {
  resolver: Resolver;
  visibilitySeconds?: number | undefined;
}) {
  const duplicates: Duplicates = { every: duplicateEvery, counted: 0 };
  const queues = new Map<string, Queue>();
  const waiting = new Set<() => void>();
  const queueOf = (arn: string) => {
    const queue = queues.get(arn);
    if (queue === undefined) throw new Error(`No template has the queue ${arn}.`);
    return queue;
  };
  for (const resource of resolver.resources("AWS::SQS::Queue")) {
    const {
      VisibilityTimeout = defaultVisibilitySeconds,
      DelaySeconds = 0,
      RedrivePolicy,
    } = resource.properties;
    const { deadLetterTargetArn, maxReceiveCount } = record(RedrivePolicy);
    const target = String(deadLetterTargetArn);
    if (RedrivePolicy !== undefined && resolver.byArn("AWS::SQS::Queue", target) === undefined)
      throw new Error(`${resource.label}: its dead-letter queue is in no template.`);
    const redrive = {
      maxReceiveCount: Number(maxReceiveCount),
      take: (message: MovedMessage) => queueOf(target).take(message),
    };
    const queue = createQueue({
      visibilitySeconds: visibilitySeconds ?? Number(VisibilityTimeout),
      delaySeconds: Number(DelaySeconds),
      duplicates,
      ...(RedrivePolicy !== undefined && { redrive }),
    });
    queues.set(resource.arn, queue);
  }

  /** Waits for a message for as long as the caller asks. */
  async function receive(
    queue: Queue,
    input: Record<string, unknown>,
    signal: AbortSignal,
  ): Promise<Delivered[]> {
    const { MaxNumberOfMessages = 1, VisibilityTimeout, WaitTimeSeconds = 0 } = input;
    const seconds = VisibilityTimeout === undefined ? undefined : Number(VisibilityTimeout);
    const endAtMs =
      performance.now() + 1000 * Math.min(Number(WaitTimeSeconds), longestWaitSeconds);
    for (;;) {
      const most = Math.min(Number(MaxNumberOfMessages), mostPerReceive);
      const delivered = queue.receive({ most, hiddenSeconds: seconds });
      const leftMs = endAtMs - performance.now();
      if (delivered.length > 0 || leftMs <= 0 || signal.aborted) return delivered;
      const dueInMs = (queue.nextDueMs() ?? Number.POSITIVE_INFINITY) - Date.now();
      await change({ queue, mostMs: Math.min(leftMs, Math.max(dueInMs, 1)), signal });
    }
  }

  function change({
    queue,
    mostMs,
    signal,
  }: {
    queue: Queue;
    mostMs: number;
    signal: AbortSignal;
  }): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const ignore = queue.onChange(resolve);
    waiting.add(resolve);
    signal.addEventListener("abort", () => resolve(), { once: true });
    const timer = setTimeout(resolve, mostMs);
    return promise.finally(() => {
      ignore();
      waiting.delete(resolve);
      clearTimeout(timer);
    });
  }

  const backend: Backend = async ({ call: { action, input, resources }, received: requests }) => {
    const queue = queues.get(resources[0] ?? "");
    if (queue === undefined) return failure("QueueDoesNotExist");
    switch (action) {
      case "sqs:SendMessage": {
        const problem = problemOf(input);
        return problem ? failure(problem) : Response.json(send(queue, input, requests));
      }
      case "sqs:ReceiveMessage":
        return Response.json({ Messages: await receive(queue, input, requests.request.signal) });
      case "sqs:DeleteMessage":
        return queue.remove(String(input.ReceiptHandle))
          ? Response.json({})
          : failure("ReceiptHandleIsInvalid");
      case "sqs:ChangeMessageVisibility": {
        const seconds = Number(input.VisibilityTimeout);
        if (!(seconds >= 0 && seconds <= longestHiddenSeconds))
          return failure("InvalidParameterValue");
        const receipt = String(input.ReceiptHandle);
        return queue.hide({ receipt, seconds })
          ? Response.json({})
          : failure("ReceiptHandleIsInvalid");
      }
      case "sqs:GetQueueAttributes":
        return Response.json({ Attributes: attributesOf(queue) });
    }
    return failure("UnsupportedOperation");
  };

  // The backend checks permissions. The other functions need none, as CloudWatch needs none.
  return {
    backend,
    depthOf: (arn: string) => queueOf(arn).depth(),
    /** Returns the bodies of messages that can be received, without receiving them. */
    peek: (arn: string) => queueOf(arn).bodies(),
    send: ({ arn, body }: { arn: string; body: string }) => void queueOf(arn).send({ body }),
    /** Returns when the next message of any of these queues can be received. */
    nextDueMs(arns: readonly string[]): number | undefined {
      const due = arns.flatMap((arn) => queueOf(arn).nextDueMs() ?? []);
      return due.length === 0 ? undefined : Math.min(...due);
    },
    duplicates,
    /** Makes pending receives look again, because the clock moved. */
    lookAgain() {
      for (const look of [...waiting]) look();
    },
  };
}

function send(
  queue: Queue,
  input: Record<string, unknown>,
  { request }: Received,
): Record<string, unknown> {
  const { MessageBody, DelaySeconds, MessageGroupId, MessageAttributes } = input;
  const body = String(MessageBody);
  const MessageId = queue.send({
    body,
    delaySeconds: DelaySeconds === undefined ? undefined : Number(DelaySeconds),
    groupId: MessageGroupId === undefined ? undefined : String(MessageGroupId),
    attributes: MessageAttributes,
    trace: request.headers.get("x-amzn-trace-id") ?? undefined,
  });
  return { MessageId, MD5OfMessageBody: hash("md5", body) };
}

/** Returns why SQS rejects a message. */
function problemOf({ MessageBody, DelaySeconds = 0 }: Record<string, unknown>): string | undefined {
  if (typeof MessageBody !== "string" || MessageBody === "") return "MissingParameter";
  if (refusedCharacters.test(MessageBody)) return "InvalidMessageContents";
  const delay = Number(DelaySeconds);
  const isFine = Number.isInteger(delay) && delay >= 0 && delay <= longestDelaySeconds;
  return isFine && Buffer.byteLength(MessageBody) <= maxBytes ? undefined : "InvalidParameterValue";
}

function attributesOf(queue: Queue): Record<string, string> {
  const { visible, notVisible, delayed } = queue.depth();
  return {
    ApproximateNumberOfMessages: String(visible),
    ApproximateNumberOfMessagesNotVisible: String(notVisible),
    ApproximateNumberOfMessagesDelayed: String(delayed),
  };
}

function failure(name: string): Response {
  return awsFailure({ service: "sqs", name });
}
