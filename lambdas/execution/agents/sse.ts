/** Server-sent events from bytes (https://html.spec.whatwg.org/multipage/server-sent-events.html, section 9.2.6). */

export type ServerSentEvent = { event: string; data: string };

/**
 * Lines end in CRLF, LF or CR, wherever the chunks are cut. Other than in a browser, an event that the end of the stream
 * cuts short is given out too: some servers leave out the last empty line. Throws above `maxBytes`, and for bad UTF-8.
 */
export async function* parseServerSentEvents({
  chunks,
  maxBytes,
}: {
  chunks: AsyncIterable<Uint8Array>;
  maxBytes: number;
}): AsyncGenerator<ServerSentEvent> {
  let event = "";
  let data: string[] = [];
  for await (const line of linesOf({ chunks, maxBytes })) {
    if (line === "") {
      if (data.length > 0) yield { event, data: data.join("\n") };
      event = "";
      data = [];
      continue;
    }
    const [, field, value = ""] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? [];
    if (field === "data") data.push(value);
    if (field === "event") event = value;
  }
  if (data.length > 0) yield { event, data: data.join("\n") };
}

async function* linesOf({
  chunks,
  maxBytes,
}: {
  chunks: AsyncIterable<Uint8Array>;
  maxBytes: number;
}): AsyncGenerator<string> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let bytes = 0;
  let rest = "";
  for await (const chunk of chunks) {
    bytes += chunk.byteLength;
    if (bytes > maxBytes) throw new Error("more than was agreed to read");
    const text = rest + decoder.decode(chunk, { stream: true });
    // A CR at the very end may be half of a CRLF.
    const end = text.endsWith("\r") ? text.length - 1 : text.length;
    const lines = text.slice(0, end).split(/\r\n|\n|\r/);
    rest = (lines.pop() ?? "") + text.slice(end);
    yield* lines;
  }
  yield* (rest + decoder.decode()).split(/\r\n|\n|\r/);
}
