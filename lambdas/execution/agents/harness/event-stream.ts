/** Reads the messages of AWS's event stream encoding (https://smithy.io/2.0/aws/amazon-eventstream.html) from the bytes of a response. */
import { EventStreamCodec, type Message } from "@smithy/core/event-streams";
import { createEventError } from "../remote-call.ts";

export const eventStreamType = "application/vnd.amazon.eventstream";

/** A message of AWS has at most 16 MiB, less its headers. */
const maxMessageBytes = 17 * 1024 * 1024;
/** Two lengths with a checksum, no headers, no body, and another checksum. */
const minMessageBytes = 16;
const lengthBytes = 4;

const codec = new EventStreamCodec(
  (bytes) => Buffer.from(bytes).toString(),
  (text) => Buffer.from(text),
);

/** Rejects with a RemoteError for a wrong checksum, for a message that is too large, and if the stream ends within a message. */
export async function* readMessages(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Message> {
  let pieces: Uint8Array[] = [];
  let bytes = 0;
  let neededBytes = lengthBytes;
  for await (const chunk of chunks) {
    pieces.push(chunk);
    bytes += chunk.byteLength;
    // The pieces are joined only when that completes something. Joining each would take quadratic time.
    if (bytes < neededBytes) continue;
    const joined = Buffer.concat(pieces, bytes);
    let start = 0;
    for (;;) {
      const available = bytes - start;
      neededBytes = available < lengthBytes ? lengthBytes : readLength(joined, start);
      if (available < neededBytes) break;
      yield decode(joined.subarray(start, start + neededBytes));
      start += neededBytes;
    }
    pieces = [joined.subarray(start)];
    bytes -= start;
  }
  if (bytes > 0) throw createEventError("the stream ends within a message");
}

function readLength(bytes: Buffer, start: number): number {
  const length = bytes.readUInt32BE(start);
  if (length < minMessageBytes || length > maxMessageBytes)
    throw createEventError("a message of the event stream has an impossible length");
  return length;
}

/** The copy has a buffer of its own, so that wrong lengths within the message read nothing beside it. */
function decode(bytes: Uint8Array): Message {
  try {
    return codec.decode(new Uint8Array(bytes));
  } catch {
    throw createEventError("a message of the event stream is damaged");
  }
}
