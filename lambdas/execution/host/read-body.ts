/** Reads a body within a limit of bytes and of time. */
import { SekishoError } from "../../../contracts/errors.ts";

/**
 * Rejects with `payload_too_large` as soon as more is announced or arrives, and with `unavailable` where the body does
 * not come in time or breaks off: nothing was done, so the same request may be sent again.
 */
export async function readBody({
  body,
  announced,
  maxBytes,
  timeoutMs,
}: {
  body: AsyncIterable<Uint8Array>;
  /** The `content-length` header. */
  announced: string | undefined;
  maxBytes: number;
  timeoutMs: number;
}): Promise<Uint8Array> {
  if (Number(announced ?? 0) > maxBytes) throw new SekishoError("payload_too_large");
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new SekishoError("unavailable")), timeoutMs);
  try {
    return await Promise.race([collect({ body, maxBytes }), late]);
  } finally {
    clearTimeout(timer);
  }
}

async function collect({ body, maxBytes }: { body: AsyncIterable<Uint8Array>; maxBytes: number }): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  try {
    for await (const chunk of body) {
      bytes += chunk.byteLength;
      if (bytes > maxBytes) throw new SekishoError("payload_too_large");
      chunks.push(chunk);
    }
  } catch (error) {
    throw error instanceof SekishoError ? error : new SekishoError("unavailable", { cause: error });
  }
  const [first] = chunks;
  return first !== undefined && chunks.length === 1 ? first : Buffer.concat(chunks, bytes);
}
