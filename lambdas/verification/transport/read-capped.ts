/** Reads a body up to a limit, and lets go of the rest. */
import { SekishoError } from "../../../contracts/errors.ts";

/** Throws `payload_too_large` past `maxBytes`; leaving the loop early destroys the stream and with it the connection. */
export async function readCapped({
  stream,
  maxBytes,
}: {
  stream: AsyncIterable<Uint8Array>;
  maxBytes: number;
}): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of stream) {
    bytes += chunk.byteLength;
    if (bytes > maxBytes) throw new SekishoError("payload_too_large");
    chunks.push(chunk);
  }
  const [only] = chunks;
  return only !== undefined && chunks.length === 1 ? only : Buffer.concat(chunks, bytes);
}

export const defaultMaxResponseBytes = 1024 * 1024;
