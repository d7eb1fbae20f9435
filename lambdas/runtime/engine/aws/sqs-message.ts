/** Adapts messages to SQS: delays longer than it allows, and characters that it refuses. */

/** SQS's longest DelaySeconds. */
const maxSqsDelayMs = 900_000;

const readDueAtMs = "DueAtMs";

/** The attributes of a received message, in the letter case of the SDK or of a Lambda event. */
export type MessageAttributes = Readonly<
  Record<
    string,
    { StringValue?: string | undefined } | { stringValue?: string | undefined } | undefined
  >
>;

export type DelayFields = {
  DelaySeconds?: number;
  MessageAttributes?: Record<string, { DataType: "Number"; StringValue: string }>;
};

/** The fields of SendMessage for a delay, rounded up to whole seconds. `maxDelayMs` is for tests. */
export function createDelayFields(options: {
  delayMs: number;
  nowMs: number;
  maxDelayMs?: number;
}): DelayFields {
  const { delayMs, nowMs, maxDelayMs = maxSqsDelayMs } = options;
  if (delayMs <= 0) return {};
  if (delayMs <= maxDelayMs) return { DelaySeconds: Math.ceil(delayMs / 1000) };
  const StringValue = String(Math.ceil(nowMs + delayMs));
  return {
    DelaySeconds: Math.ceil(maxDelayMs / 1000),
    MessageAttributes: { [readDueAtMs]: { DataType: "Number", StringValue } },
  };
}

/** The rest of a message's delay. If it is above 0, the receiver sends the message again with that delay and finishes this one. */
export function remainingDelayMs(request: {
  attributes: MessageAttributes | undefined;
  nowMs: number;
}): number {
  const { attributes, nowMs } = request;
  const attribute: { StringValue?: string | undefined; stringValue?: string | undefined } =
    attributes?.[readDueAtMs] ?? {};
  const atMs = Number(attribute.StringValue ?? attribute.stringValue ?? 0);
  return Number.isFinite(atMs) ? Math.max(0, atMs - nowMs) : 0;
}

/** SQS allows the characters of XML 1.0 (section 2.2). This matches the rest: controls, lone surrogates, U+FFFE and U+FFFF. */
const refusedCharacters = /[^\t\n\r\u{20}-\u{D7FF}\u{E000}-\u{FFFD}\u{10000}-\u{10FFFF}]/gu;

/** Escapes the characters that SQS refuses in a body. In JSON each of them has an escape. */
export function escapeSqsText(json: string): string {
  return json.replace(
    refusedCharacters,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
