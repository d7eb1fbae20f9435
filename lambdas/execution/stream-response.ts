/** Writes an answer that comes in pieces to node:http: no faster than the client reads, and no longer than it stays. */
import { once } from "node:events";
import type { ServerResponse } from "node:http";

/**
 * Resolves when all is written, or the client is gone, or it has taken nothing for `stallMs`: then its connection is cut.
 * Whichever it is, `pieces` is at its end or returned. Rejects as `pieces` does.
 */
export async function streamResponse({
  response,
  pieces,
  stallMs,
}: {
  response: ServerResponse;
  pieces: AsyncIterable<string>;
  stallMs: number;
}): Promise<void> {
  for await (const piece of pieces) {
    if (response.destroyed) return;
    if (!response.write(piece)) await drained({ response, stallMs });
  }
  response.end();
}

/** Resolves when more can be written, or the connection is closed. */
async function drained({ response, stallMs }: { response: ServerResponse; stallMs: number }): Promise<void> {
  const over = new AbortController();
  const { signal } = over;
  const cut = setTimeout(() => response.destroy(), stallMs);
  try {
    await Promise.race([once(response, "drain", { signal }), once(response, "close", { signal })]);
  } finally {
    clearTimeout(cut);
    over.abort();
  }
}
