/** Reads a stream of Server-Sent Events, each of which is JSON: by default, a JSON-RPC response. */

import { isJsonObject, parseJson } from "@sekisho/runtime/untrusted-input.ts";
import { createParser } from "eventsource-parser";
import { isResponse } from "./read-response.ts";
import { type CappedBody, createTooLargeError } from "./response-body.ts";

/** Takes one event of a stream that is an object of JSON. `length` is that of its text. True ends the reading. */
export type TakeResponse = (event: {
  response: Record<string, unknown>;
  length: number;
}) => boolean;

/** Undefined for `true`, which reads up to the first response. */
export function toTakeResponse(readsEvents: boolean | TakeResponse): TakeResponse | undefined {
  return typeof readsEvents === "function" ? readsEvents : undefined;
}

/**
 * Skips comments and what is no object, and by default notifications and events that are no response. The body is the last event that was read, by default
 * the first response, or empty if the stream ends without one. A line may end in `\r\n`, `\n` or `\r`. A `\r` ends it at once, because an open stream may never send the byte after it.
 */
export function createEventCollector(options: {
  maxBytes: number;
  takeResponse?: TakeResponse | undefined;
}): {
  add(chunk: Uint8Array): void;
  isDone(): boolean;
  end(): { body: Uint8Array };
} {
  const { maxBytes, takeResponse = takeFirst } = options;
  const decoder = new TextDecoder();
  /** The line that has not ended yet. The parser would scan it again with every chunk. */
  let pendingLine: string[] = [];
  let bytes = 0;
  let lastResponse = "";
  let isDone = false;
  let endsInReturn = false;
  const parser = createParser({
    onEvent({ data }) {
      const response = isDone ? undefined : parseJson(data);
      if (!isJsonObject(response) || (takeResponse === takeFirst && !isResponse(response))) return;
      lastResponse = data;
      isDone = takeResponse({ response, length: data.length });
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
    isDone: () => isDone,
    end: () => ({ body: Buffer.from(lastResponse) }),
  };
}

/** Reads the stream up to its last wanted response. Throws `payload_too_large` if it is larger. */
export async function readEventResponse(
  stream: AsyncIterable<Uint8Array>,
  options: { maxBytes: number; takeResponse: TakeResponse | undefined },
): Promise<CappedBody> {
  const collector = createEventCollector(options);
  for await (const chunk of stream) {
    collector.add(chunk);
    if (collector.isDone()) break;
  }
  return collector.end();
}

const takeFirst: TakeResponse = () => true;
