/** Events of an SQS event source, as Lambda gives them to a function. */
import { createHash, randomUUID } from "node:crypto";

type Options = {
  messageId?: string;
  receiptHandle?: string;
  /** The queue's ARN. */
  arn?: string;
  receiveCount?: number;
  group?: string | undefined;
  /** The message is early until then. */
  dueAtMs?: number | undefined;
};

/** https://docs.aws.amazon.com/lambda/latest/dg/with-sqs.html, "Example standard queue message event". */
export function createSqsRecord(body: string, options: Options = {}) {
  const {
    messageId = randomUUID(),
    receiptHandle = `receipt of ${messageId}`,
    group,
    dueAtMs,
  } = options;
  const { arn = "arn:aws:sqs:eu-central-1:123456789012:tasks", receiveCount = 1 } = options;
  const dueAt = {
    stringValue: String(dueAtMs),
    stringListValues: [],
    binaryListValues: [],
    dataType: "Number",
  };
  return {
    messageId,
    receiptHandle,
    body,
    attributes: {
      ApproximateReceiveCount: String(receiveCount),
      SentTimestamp: "1545082649183",
      SenderId: "AIDAIENQZJOLO23YVJ4VO",
      ApproximateFirstReceiveTimestamp: "1545082649185",
      ...(group === undefined ? {} : { MessageGroupId: group }),
    },
    messageAttributes: dueAtMs === undefined ? {} : { DueAtMs: dueAt },
    md5OfBody: createHash("md5").update(body).digest("hex"),
    eventSource: "aws:sqs",
    eventSourceARN: arn,
    awsRegion: "eu-central-1",
  };
}

/** A batch of these bodies. The ids of its messages are "m0", "m1" and so on. */
export function createSqsEvent(bodies: readonly string[]) {
  return {
    Records: bodies.map((body, index) => createSqsRecord(body, { messageId: `m${index}` })),
  };
}
