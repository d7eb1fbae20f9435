/** Reads Server-Sent Events (https://html.spec.whatwg.org/multipage/server-sent-events.html) from the bytes of a response. */
import { createParser } from "eventsource-parser";

/** `isCut` is true if the stream ended without the empty line that ends an event. */
export type ServerSentEvent = { event: string; data: string; isCut?: boolean };

export type ChunkSource = {
  chunks: AsyncIterable<Uint8Array>;
  /** Called for each chunk. */
  onChunk?: () => void;
};

/** An event is held in memory, several times over while it is parsed. */
const maxEventBytes = 32 * 1024 * 1024;

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
  /** The beginning of a line. The parser would read it again with each chunk, which takes quadratic time. */
  const linePieces: string[] = [];
  for await (const chunk of chunks) {
    onChunk();
    bytes += chunk.byteLength;
    bytesOfEvent += chunk.byteLength;
    if (bytes > maxBytes || bytesOfEvent > maxEventBytes)
      throw new Error("The stream is too large.");
    const text = decoder.decode(chunk, { stream: true });
    const lineEnd = Math.max(text.lastIndexOf("\n"), text.lastIndexOf("\r")) + 1;
    if (lineEnd > 0) parser.feed(linePieces.splice(0).join("") + text.slice(0, lineEnd));
    linePieces.push(text.slice(lineEnd));
    yield* events.splice(0);
  }
  // Some servers leave out the last empty line, without which the parser would drop the last event.
  parser.feed(`${linePieces.join("")}${decoder.decode()}\n\n`);
  yield* events.map((event) => ({ ...event, isCut: true }));
}
