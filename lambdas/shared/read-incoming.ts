/** Reads what arrives over node:http up to a limit. By events and not as an async iterable: this is the hot path of both zones. */
import type { IncomingMessage } from "node:http";
import { SekishoError } from "../../contracts/errors.ts";

/**
 * Rejects with `payload_too_large` past `maxBytes`, or with the connection's own error; nothing more is kept then. The caller
 * decides what becomes of the connection.
 */
export function readIncoming({
  message,
  maxBytes,
}: {
  message: IncomingMessage;
  maxBytes: number;
}): Promise<Uint8Array> {
  const { promise, resolve, reject } = Promise.withResolvers<Uint8Array>();
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  message.on("data", (chunk: Uint8Array) => {
    bytes += chunk.byteLength;
    if (bytes > maxBytes) reject(new SekishoError("payload_too_large"));
    else chunks.push(chunk);
  });
  message.on("end", () =>
    resolve(chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks, bytes)),
  );
  message.on("error", reject);
  return promise;
}
