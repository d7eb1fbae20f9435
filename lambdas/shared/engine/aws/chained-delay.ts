/** Delays longer than SQS allows, pure: the message is sent with the longest delay and has an attribute with the time when it is due. */

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
 * The fields of SendMessage for a delay, in whole seconds, rounded up. A longer delay than SQS allows adds the attribute with the due
 * time. `maxDelayMs` is for tests.
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

/** The rest of a received message's delay. Above 0, the receiver sends the message again with that delay and finishes this one. */
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
