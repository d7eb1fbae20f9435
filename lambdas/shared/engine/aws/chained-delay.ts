/** Delays longer than SQS knows, pure: a message is sent with the longest delay there is and says itself when it is due. */

/** SQS's longest DelaySeconds. */
const longestDelayMs = 900_000;

const readDueAtMs = "DueAtMs";

/** The attributes of a received message, as the SDK's or a Lambda event's letter case has them. */
export type MessageAttributes = Readonly<
  Record<string, { StringValue?: string | undefined } | { stringValue?: string | undefined } | undefined>
>;

export type DelayFields = {
  DelaySeconds?: number;
  MessageAttributes?: Record<string, { DataType: "Number"; StringValue: string }>;
};

/**
 * What SendMessage gets for a delay; whole seconds, rounded up. One that is longer than SQS allows says when the message
 * is due. `maxDelayMs` is for tests.
 */
export function createDelayFields({
  delayMs,
  nowMs,
  maxDelayMs = longestDelayMs,
}: {
  delayMs: number;
  nowMs: number;
  maxDelayMs?: number;
}): DelayFields {
  if (delayMs <= 0) return {};
  if (delayMs <= maxDelayMs) return { DelaySeconds: Math.ceil(delayMs / 1000) };
  const StringValue = String(Math.ceil(nowMs + delayMs));
  return {
    DelaySeconds: Math.ceil(maxDelayMs / 1000),
    MessageAttributes: { [readDueAtMs]: { DataType: "Number", StringValue } },
  };
}

/** What is left of the delay of a message that was received: above 0, it is to be sent on with that delay and finished. */
export function remainingDelayMs({
  attributes,
  nowMs,
}: {
  attributes: MessageAttributes | undefined;
  nowMs: number;
}): number {
  const attribute: { StringValue?: string | undefined; stringValue?: string | undefined } =
    attributes?.[readDueAtMs] ?? {};
  const atMs = Number(attribute.StringValue ?? attribute.stringValue ?? 0);
  return Number.isFinite(atMs) ? Math.max(0, atMs - nowMs) : 0;
}
