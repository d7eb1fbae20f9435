/** A standard queue of SQS in virtual time, with the batches that Lambda's event source makes of it. The messages are in sqlite, outside the heap. */
import { DatabaseSync } from "node:sqlite";
import type { SendMessageRequest } from "@aws-sdk/client-sqs";
import { AwsCallError } from "@sekisho/runtime/aws/retry.ts";
import type { Sqs } from "@sekisho/runtime/engine/aws/client.ts";
import { createSqsRecord } from "../../../doubles/aws/sqs-event.ts";

export type VirtualSqs = {
  /** Sends only, as the worker on Lambda does. */
  client: Sqs;
  /** Takes up to ten due messages, oldest first. They are gone, as if each were handled. */
  takeBatch(): unknown[];
  /** When the next message is due. */
  nextDueMs(): number | undefined;
  close(): void;
};

const maxPerBatch = 10;
const longestDelaySeconds = 900;
const maxBytes = 1_048_576;
/** https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SendMessage.html */
const refusedCharacters = /[^\t\n\r\u{20}-\u{D7FF}\u{E000}-\u{FFFD}\u{10000}-\u{10FFFF}]/u;
const groupPattern = /^[!-~]{1,128}$/;

export function openVirtualSqs({
  now,
  onSend,
}: {
  now: () => number;
  onSend: () => void;
}): VirtualSqs {
  const database = new DatabaseSync(":memory:");
  database.exec(`
    CREATE TABLE messages (number INTEGER PRIMARY KEY, dueAtMs INTEGER, body TEXT, grouped TEXT, readyAtMs TEXT);
    CREATE INDEX due ON messages (dueAtMs, number);
  `);
  const insert = database.prepare(
    "INSERT INTO messages (dueAtMs, body, grouped, readyAtMs) VALUES (?, ?, ?, ?)",
  );
  const first = database.prepare(
    "SELECT * FROM messages WHERE dueAtMs <= ? ORDER BY dueAtMs, number LIMIT ?",
  );
  const next = database.prepare("SELECT MIN(dueAtMs) AS dueAtMs FROM messages");
  const remove = database.prepare("DELETE FROM messages WHERE number = ?");

  function send({
    MessageBody: body = "",
    DelaySeconds = 0,
    MessageGroupId,
    MessageAttributes,
  }: SendMessageRequest) {
    const isDelayFine =
      Number.isInteger(DelaySeconds) && DelaySeconds >= 0 && DelaySeconds <= longestDelaySeconds;
    const isGroupFine = MessageGroupId === undefined || groupPattern.test(MessageGroupId);
    const isBodyFine =
      body !== "" && !refusedCharacters.test(body) && Buffer.byteLength(body) <= maxBytes;
    if (!isDelayFine || !isGroupFine || !isBodyFine)
      throw new AwsCallError({ name: "InvalidParameterValue", status: 400 });
    onSend();
    const readyAtMs = MessageAttributes?.DueAtMs?.StringValue ?? null;
    insert.run(now() + DelaySeconds * 1000, body, MessageGroupId ?? null, readyAtMs);
  }

  return {
    client: {
      async call(operation, input) {
        if (operation !== "SendMessage")
          throw new AwsCallError({ name: "UnsupportedOperation", status: 400 });
        send(input as SendMessageRequest);
        return {};
      },
    },
    takeBatch() {
      return first.all(now(), maxPerBatch).map(({ number, body, grouped, readyAtMs }) => {
        remove.run(Number(number));
        return createSqsRecord(String(body), {
          messageId: String(number),
          group: grouped === null ? undefined : String(grouped),
          dueAtMs: readyAtMs === null ? undefined : Number(readyAtMs),
        });
      });
    },
    nextDueMs() {
      const dueAtMs = next.get()?.dueAtMs;
      return dueAtMs === null || dueAtMs === undefined ? undefined : Number(dueAtMs);
    },
    close: () => database.close(),
  };
}
