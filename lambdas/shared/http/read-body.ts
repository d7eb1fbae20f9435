/** Reads a body up to a limit of bytes: a stream, a `fetch` response, a node:http message or a request to a server. */
import type { IncomingMessage } from "node:http";

/**
 * Resolves to the whole body, or to `too_large` as soon as more than `maxBytes` have arrived. The stream is canceled or
 * destroyed then, and its connection with it. Rejects as the stream does.
 */
export async function readBody({
  body,
  maxBytes,
}: {
  body: AsyncIterable<Uint8Array>;
  maxBytes: number;
}): Promise<Buffer<ArrayBuffer> | "too_large"> {
  const collector = createBodyCollector({ maxBytes });
  for await (const chunk of body) if (!collector.add(chunk)) return "too_large";
  return collector.bytes();
}

/** The same for a response of `fetch`. A body that is announced as too large is not read at all. */
export async function readResponseBody({
  response: { body, headers },
  maxBytes,
}: {
  response: Response;
  maxBytes: number;
}): Promise<Buffer<ArrayBuffer> | "too_large"> {
  if (isAnnouncedLarger({ contentLength: headers.get("content-length"), maxBytes })) {
    await body?.cancel();
    return "too_large";
  }
  return readBody({ body: (body ?? []) as AsyncIterable<Uint8Array>, maxBytes });
}

/** `busy`: the bodies of all requests together are at their limit. */
export type BodyRefusal = "too_large" | "busy";

/**
 * The same for a request to a node:http server, whose socket stays open for the response. `reserve` is called with the size of
 * each chunk. If it returns false, the body is `busy` and nothing more is kept.
 */
export async function readRequestBody({
  request,
  maxBytes,
  reserve = () => true,
}: {
  request: IncomingMessage;
  maxBytes: number;
  reserve?: (bytes: number) => boolean;
}): Promise<Buffer<ArrayBuffer> | BodyRefusal> {
  if (isAnnouncedLarger({ contentLength: request.headers["content-length"], maxBytes })) return "too_large";
  const collector = createBodyCollector({ maxBytes });
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    if (!collector.add(chunk)) return "too_large";
    if (!reserve(chunk.byteLength)) return "busy";
  }
  return collector.bytes();
}

/**
 * The same for a node:http message on a hot path: events are faster than an async iterable. The caller decides what becomes of
 * the connection.
 */
export function readIncomingMessage({
  message,
  maxBytes,
}: {
  message: IncomingMessage;
  maxBytes: number;
}): Promise<Buffer<ArrayBuffer> | "too_large"> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer<ArrayBuffer> | "too_large">();
  const collector = createBodyCollector({ maxBytes });
  message.on("data", (chunk: Uint8Array) => {
    if (!collector.add(chunk)) resolve("too_large");
  });
  message.on("end", () => resolve(collector.bytes()));
  message.on("error", reject);
  return promise;
}

/** By the Content-Length header alone. A missing or malformed one announces nothing. */
export function isAnnouncedLarger({
  contentLength,
  maxBytes,
}: {
  contentLength: string | null | undefined;
  maxBytes: number;
}): boolean {
  return Number(contentLength ?? 0) > maxBytes;
}

export type BodyCollector = {
  /** Returns false from the chunk on with which there are more than `maxBytes`, and keeps nothing of it. */
  add(chunk: Uint8Array): boolean;
  /** What was kept so far. */
  bytes(): Buffer<ArrayBuffer>;
};

/**
 * Collects the chunks of one body in one buffer that grows. A list of chunks would take hundreds of bytes for a chunk of a single
 * byte, so that a small body could exhaust the memory.
 */
export function createBodyCollector({ maxBytes }: { maxBytes: number }): BodyCollector {
  let buffer = Buffer.alloc(0);
  let usedBytes = 0;
  return {
    add(chunk) {
      const needed = usedBytes + chunk.byteLength;
      if (needed > maxBytes) return false;
      if (needed > buffer.byteLength) {
        const smaller = buffer;
        buffer = Buffer.alloc(Math.min(maxBytes, needed * 2));
        buffer.set(smaller);
      }
      buffer.set(chunk, usedBytes);
      usedBytes = needed;
      return true;
    },
    bytes: () => buffer.subarray(0, usedBytes),
  };
}
