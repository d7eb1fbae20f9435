/** Reads a stream of Server-Sent Events up to its first JSON-RPC response, from an agent that answers a plain call with a stream. */
import { createParser } from "eventsource-parser";
import { isJsonObject, parseJson } from "../../shared/untrusted-input.ts";
import { createTooLargeError } from "./read-response.ts";

/** Skips comments, and events that are no response. The body is the response, or empty if the stream ends without one. */
export function createEventCollector({ maxBytes }: { maxBytes: number }): {
  add(chunk: Uint8Array): void;
  isDone(): boolean;
  end(): { body: Uint8Array };
} {
  const decoder = new TextDecoder();
  /** The line that has not ended yet. The parser would scan it again with every chunk. */
  let pending: string[] = [];
  let bytes = 0;
  let response: string | undefined;
  let endsInReturn = false;
  const parser = createParser({
    onEvent({ data }) {
      const json = parseJson(data);
      if (isJsonObject(json) && json.jsonrpc === "2.0") response ??= data;
    },
  });
  return {
    add(chunk) {
      bytes += chunk.byteLength;
      if (bytes > maxBytes) throw createTooLargeError();
      const text = decoder.decode(chunk, { stream: true });
      const end = Math.max(text.lastIndexOf("\n"), text.lastIndexOf("\r")) + 1;
      if (text !== "") endsInReturn = text.endsWith("\r");
      pending.push(text.slice(0, end || undefined));
      if (end === 0) return;
      parser.feed(pending.join(""));
      pending = [text.slice(end)];
    },
    isDone: () => response !== undefined,
    end() {
      // The parser waits for the second half of a line end that may be `\r\n`.
      if (endsInReturn) parser.feed("\n");
      return { body: Buffer.from(response ?? "") };
    },
  };
}
