/** Reads a body up to a limit of bytes, from a stream, a `fetch` response, or a node:http message. */
import type { IncomingMessage } from "node:http";
import type { BodyShare, OpenBodyShare } from "./server-limits.ts";

/**
 * Resolves to the body, or to `too_large` as soon as more than `maxBytes` have arrived. Then the stream is canceled or destroyed together
 * with its connection. Rejects as the stream does.
 */
export async function readBody(request: {
  body: AsyncIterable<Uint8Array>;
  maxBytes: number;
}): Promise<Buffer<ArrayBuffer> | "too_large"> {
  const { body, maxBytes } = request;
  const collector = createBodyCollector({ maxBytes });
  for await (const chunk of body) if (!collector.add(chunk)) return "too_large";
  return collector.bytes();
}

/** The same for a response of `fetch`. Does not read a body that is announced as too large. */
export async function readResponseBody(request: {
  response: Response;
  maxBytes: number;
}): Promise<Buffer<ArrayBuffer> | "too_large"> {
  const { maxBytes } = request;
  const { body, headers } = request.response;
  if (isAnnouncedLarger({ contentLength: headers.get("content-length"), maxBytes })) {
    await body?.cancel();
    return "too_large";
  }
  return readBody({ body: (body ?? []) as AsyncIterable<Uint8Array>, maxBytes });
}

/** `busy`: the bodies of all requests together have reached their limit. */
export type BodyRefusal = "too_large" | "busy";

/**
 * The same for a request to a node:http server, whose socket stays open for the response. `reserve` is called with the size of each chunk;
 * if it returns false, the body is `busy` and nothing more is kept.
 */
export async function readRequestBody(input: {
  request: IncomingMessage;
  maxBytes: number;
  reserve?: (bytes: number) => boolean;
}): Promise<Buffer<ArrayBuffer> | BodyRefusal> {
  const { request, maxBytes, reserve = () => true } = input;
  if (isAnnouncedLarger({ contentLength: request.headers["content-length"], maxBytes }))
    return "too_large";
  const collector = createBodyCollector({ maxBytes });
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    if (!collector.add(chunk)) return "too_large";
    if (!reserve(chunk.byteLength)) return "busy";
  }
  return collector.bytes();
}

/** The same for a node:http message on a hot path, since events are faster than an async iterable. The caller handles the connection. */
export function readIncomingMessage(request: {
  message: IncomingMessage;
  maxBytes: number;
}): Promise<Buffer<ArrayBuffer> | "too_large"> {
  return readBoundedMessage({ ...request, openShare: () => unboundedShare }) as Promise<
    Buffer<ArrayBuffer> | "too_large"
  >;
}

const unboundedShare: BodyShare = { reserve: () => true, complete() {}, release() {} };

/** The same within the limits of a server. Holds the share of the body only while it is read. */
export function readBoundedMessage(request: {
  message: IncomingMessage;
  maxBytes: number;
  openShare: OpenBodyShare;
}): Promise<Buffer<ArrayBuffer> | BodyRefusal> {
  const { message, maxBytes, openShare } = request;
  const { promise, resolve, reject } = Promise.withResolvers<Buffer<ArrayBuffer> | BodyRefusal>();
  let collector: BodyCollector | undefined = createBodyCollector({ maxBytes });
  const share = openShare(() => finish("busy"));

  function add(chunk: Uint8Array): void {
    if (collector === undefined) return;
    if (!collector.add(chunk)) finish("too_large");
    else if (!share.reserve(chunk.byteLength)) finish("busy");
  }

  function drop(): void {
    // The listeners live as long as the message, and would keep the bytes of a body that was refused or is being answered.
    collector = undefined;
    message.off("data", add);
    share.release();
  }

  function finish(body: Buffer<ArrayBuffer> | BodyRefusal): void {
    drop();
    resolve(body);
  }

  message.on("data", add);
  message.on("end", () => {
    if (collector !== undefined) finish(collector.bytes());
  });
  message.on("error", reject);
  message.on("close", drop);
  return promise;
}

/** The same for the body of a web-standard request. */
export async function readWebBody(request: {
  body: ReadableStream<Uint8Array> | null;
  maxBytes: number;
  openShare: OpenBodyShare;
}): Promise<Buffer<ArrayBuffer> | BodyRefusal> {
  const { maxBytes, openShare } = request;
  const reader = request.body?.getReader();
  if (reader === undefined) return none;
  let isCutOff = false;
  const cancel = () => void reader.cancel().catch(() => {});
  const share = openShare(() => {
    isCutOff = true;
    cancel();
  });
  const collector = createBodyCollector({ maxBytes });
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (isCutOff) return "busy";
      if (done) return collector.bytes();
      const refusal = !collector.add(value)
        ? "too_large"
        : share.reserve(value.byteLength)
          ? undefined
          : "busy";
      if (refusal === undefined) continue;
      cancel();
      return refusal;
    }
  } finally {
    share.release();
  }
}

/** Checks the Content-Length header. A missing or malformed one announces nothing. */
export function isAnnouncedLarger(request: {
  contentLength: string | null | undefined;
  maxBytes: number;
}): boolean {
  const { contentLength, maxBytes } = request;
  return Number(contentLength ?? 0) > maxBytes;
}

export type BodyCollector = {
  /** Returns false, and keeps nothing more, once there are more than `maxBytes`. */
  add(chunk: Uint8Array): boolean;
  /** The bytes that were kept. */
  bytes(): Buffer<ArrayBuffer>;
};

const none = Buffer.alloc(0);

/**
 * Collects the chunks of a body in one growing buffer. A list of chunks would take hundreds of bytes for each chunk of a single byte, so
 * that a small body could exhaust the memory. The first chunk is not copied, because most bodies have one.
 */
export function createBodyCollector({ maxBytes }: { maxBytes: number }): BodyCollector {
  let buffer = none;
  let usedBytes = 0;
  return {
    add(chunk) {
      const neededBytes = usedBytes + chunk.byteLength;
      if (neededBytes > maxBytes) return false;
      if (usedBytes === 0) {
        buffer = Buffer.from(chunk.buffer as ArrayBuffer, chunk.byteOffset, chunk.byteLength);
      } else {
        if (neededBytes > buffer.byteLength)
          buffer = grow({ buffer, bytes: Math.min(maxBytes, neededBytes * 2) });
        buffer.set(chunk, usedBytes);
      }
      usedBytes = neededBytes;
      return true;
    },
    bytes: () => (usedBytes === buffer.byteLength ? buffer : buffer.subarray(0, usedBytes)),
  };
}

/** Has memory of its own. A piece of Node's pool would keep the rest of the pool as well. */
function grow({ buffer, bytes }: { buffer: Buffer; bytes: number }): Buffer<ArrayBuffer> {
  const larger = Buffer.alloc(bytes);
  larger.set(buffer);
  return larger;
}
