/** Reads a request's body as raw bytes, up to a limit. */
import type { IncomingMessage } from "node:http";

/** Undefined where the body is larger than `maxBytes`; what a caller announces as larger is not read at all. */
export async function readBody({
  request,
  maxBytes,
}: {
  request: IncomingMessage;
  maxBytes: number;
}): Promise<Uint8Array | undefined> {
  if (Number(request.headers["content-length"] ?? 0) > maxBytes) return undefined;
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  // The socket must stay open for the answer when the loop is left early.
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    const piece: Uint8Array = chunk;
    bytes += piece.byteLength;
    if (bytes > maxBytes) return undefined;
    chunks.push(piece);
  }
  return Buffer.concat(chunks, bytes);
}
