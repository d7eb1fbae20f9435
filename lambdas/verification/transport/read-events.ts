/** Reads a stream of Server-Sent Events up to its first JSON-RPC response, from an agent that answers a plain call with a stream. */

import { isJsonObject, parseJson } from "@sekisho/runtime/untrusted-input.ts";
import { createParser } from "eventsource-parser";
import { type CappedBody, createTooLargeError } from "./response-body.ts";

/**
 * Skips comments, notifications, and events that are no response. The body is the response, or empty if the stream ends without one. A line
 * may end in `\r\n`, `\n` or `\r`. A `\r` ends it at once, because an open stream may never send the byte after it.
 */
export function createEventCollector({ maxBytes }: { maxBytes: number }): {
  add(chunk: Uint8Array): void;
  isDone(): boolean;
  end(): { body: Uint8Array };
} {
  const decoder = new TextDecoder();
  /** The line that has not ended yet. The parser would scan it again with every chunk. */
  let pendingLine: string[] = [];
  let bytes = 0;
  let response: string | undefined;
  let endsInReturn = false;
  const parser = createParser({
    onEvent({ data }) {
      if (isResponse(parseJson(data))) response ??= data;
    },
  });

  /** Writes every line end as `\n`. */
  function withLineEnds(text: string): string {
    // The line has ended already.
    const newText = endsInReturn && text.startsWith("\n") ? text.slice(1) : text;
    if (text !== "") endsInReturn = text.endsWith("\r");
    return newText.replaceAll(/\r\n?/g, "\n");
  }

  return {
    add(chunk) {
      bytes += chunk.byteLength;
      if (bytes > maxBytes) throw createTooLargeError();
      const text = withLineEnds(decoder.decode(chunk, { stream: true }));
      const end = text.lastIndexOf("\n") + 1;
      pendingLine.push(text.slice(0, end || undefined));
      if (end === 0) return;
      parser.feed(pendingLine.join(""));
      pendingLine = [text.slice(end)];
    },
    isDone: () => response !== undefined,
    end: () => ({ body: Buffer.from(response ?? "") }),
  };
}

/** Reads the stream up to its response. Throws `payload_too_large` if that is larger. */
export async function readEventResponse(
  stream: AsyncIterable<Uint8Array>,
  maxBytes: number,
): Promise<CappedBody> {
  const collector = createEventCollector({ maxBytes });
  for await (const chunk of stream) {
    collector.add(chunk);
    if (collector.isDone()) break;
  }
  return collector.end();
}

function isResponse(json: unknown): boolean {
  if (!isJsonObject(json) || json.jsonrpc !== "2.0") return false;
  const isNotification =
    json.method !== undefined && json.result === undefined && json.error === undefined;
  return !isNotification;
}
