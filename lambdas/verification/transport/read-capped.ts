/** Reads a body up to a limit, and lets go of the rest. */
import { SekishoError } from "../../../contracts/errors.ts";
import { createShortener } from "./shorten-json.ts";

export const defaultMaxResponseBytes = 1024 * 1024;
/** A body that is read without its long strings may be so many times as large as the limit. */
export const maxShortening = 16;

/** A chunk takes much more memory than its bytes where it has only one or two. */
const mostChunks = 4096;

/** `shortened`: there were more bytes than `maxBytes`, so long strings of the JSON are cut. */
export type CappedBody = { body: Uint8Array; shortened?: true };

/**
 * Collects the chunks of one body. `add` throws `payload_too_large` past `maxBytes`. With `shortens` it does so only where even
 * what is left without long strings is too large, or where the whole is `maxShortening` times the limit.
 */
export function createBodyCollector({ maxBytes, shortens = false }: { maxBytes: number; shortens?: boolean }): {
  add(chunk: Uint8Array): void;
  end(): CappedBody;
} {
  let chunks: Uint8Array[] = [];
  let keptBytes = 0;
  let bytes = 0;
  let shorten: ReturnType<typeof createShortener> | undefined;

  function keep(chunk: Uint8Array): void {
    if (chunk.byteLength === 0) return;
    chunks.push(chunk);
    keptBytes += chunk.byteLength;
    if (chunks.length >= mostChunks) chunks = [Buffer.concat(chunks, keptBytes)];
  }

  function join(): Uint8Array {
    const [only] = chunks;
    return only !== undefined && chunks.length === 1 ? only : Buffer.concat(chunks, keptBytes);
  }

  return {
    add(chunk) {
      bytes += chunk.byteLength;
      keep(shorten === undefined ? chunk : shorten(chunk));
      if (keptBytes > maxBytes && shortens && shorten === undefined) {
        shorten = createShortener();
        const whole = join();
        chunks = [];
        keptBytes = 0;
        keep(shorten(whole));
      }
      if (keptBytes > maxBytes || bytes > maxBytes * maxShortening) throw tooLarge();
    },
    end: () => ({ body: join(), ...(shorten === undefined ? {} : { shortened: true }) }),
  };
}

/** Throws `payload_too_large` past `maxBytes`; leaving the loop early destroys the stream and with it the connection. */
export async function readCapped(request: {
  stream: AsyncIterable<Uint8Array>;
  maxBytes: number;
}): Promise<Uint8Array> {
  return (await readBody(request)).body;
}

/** The same, without its long strings where it is larger. */
export function readShortened(request: { stream: AsyncIterable<Uint8Array>; maxBytes: number }): Promise<CappedBody> {
  return readBody({ ...request, shortens: true });
}

async function readBody({
  stream,
  ...limits
}: {
  stream: AsyncIterable<Uint8Array>;
  maxBytes: number;
  shortens?: boolean;
}): Promise<CappedBody> {
  const collector = createBodyCollector(limits);
  for await (const chunk of stream) collector.add(chunk);
  return collector.end();
}

/** Nobody knows what such a response says. */
export function tooLarge(): SekishoError {
  return new SekishoError("payload_too_large", { unread: true });
}
