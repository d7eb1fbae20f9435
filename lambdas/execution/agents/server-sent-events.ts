/** Reads Server-Sent Events (https://html.spec.whatwg.org/multipage/server-sent-events.html) from the bytes of a response. */
import { createParser } from "eventsource-parser";

export type ServerSentEvent = { event: string; data: string };

export type ChunkSource = {
  chunks: AsyncIterable<Uint8Array>;
  /** Called for each chunk. */
  onChunk?: () => void;
};

/** The parser reads an unfinished line anew with each chunk, so a long one would block the process. */
const maxEventBytes = 10 * 1024 * 1024;

/** Throws if there are more than `maxBytes`, if one event is larger than `maxEventBytes`, and for invalid UTF-8. */
export async function* parseServerSentEvents(
  request: ChunkSource & { maxBytes: number },
): AsyncGenerator<ServerSentEvent> {
  const { chunks, onChunk = () => {}, maxBytes } = request;
  const events: ServerSentEvent[] = [];
  let bytes = 0;
  let bytesOfEvent = 0;
  const parser = createParser({
    onEvent({ event = "", data }) {
      events.push({ event, data });
      bytesOfEvent = 0;
    },
    onComment() {
      bytesOfEvent = 0;
    },
  });
  const decoder = new TextDecoder("utf-8", { fatal: true });
  for await (const chunk of chunks) {
    onChunk();
    bytes += chunk.byteLength;
    bytesOfEvent += chunk.byteLength;
    if (bytes > maxBytes || bytesOfEvent > maxEventBytes)
      throw new Error("The stream is too large.");
    parser.feed(decoder.decode(chunk, { stream: true }));
    yield* events.splice(0);
  }
  // Some servers leave out the last empty line, without which the parser would drop the last event.
  parser.feed(`${decoder.decode()}\n\n`);
  yield* events;
}
