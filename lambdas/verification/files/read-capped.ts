/** The body of a response of `fetch`, up to a limit. */

/** Undefined where it is larger: by its announced length before a byte of it is read, else as soon as it is. Rejects as the connection fails. */
export async function readCapped({
  response,
  maxBytes,
}: {
  response: Response;
  maxBytes: number;
}): Promise<Uint8Array | undefined> {
  if (response.body === null) return new Uint8Array();
  if (Number(response.headers.get("content-length") ?? 0) > maxBytes) {
    await response.body.cancel();
    return undefined;
  }
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body as AsyncIterable<Uint8Array>) {
    bytes += chunk.byteLength;
    // Leaving the loop cancels the stream, and with it the connection.
    if (bytes > maxBytes) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, bytes);
}
