/**
 * Removes interim responses (`100 Continue`, `103 Early Hints`) from what a socket reads. A client may discard them even if it did not ask
 * for them (RFC 9110, section 15.2), but undici takes an unasked `100 Continue` for an error, so that nobody would know the outcome.
 */
import type { Socket } from "node:net";

const start = /^HTTP\/1\.[01] 1(?!01)\d\d[ \r\n]/;
const startBytes = "HTTP/1.1 100 ".length;
const headEnd = "\r\n\r\n";
/** A longer head goes to undici, which refuses it. */
const maxHeadBytes = 16 * 1024;

export type InterimFilter = {
  attach(socket: Socket): void;
  /** The next bytes are the beginning of a response. */
  expectResponse(): void;
};

export function createInterimFilter(): InterimFilter {
  let isAtStart = false;
  /** The beginning of a response whose status is not known yet, or of an interim one. */
  let heldBytes: Buffer = Buffer.alloc(0);

  /** Returns what follows the interim responses, or null while that is not known. */
  function filter(chunk: Buffer): Buffer | null {
    heldBytes = heldBytes.length === 0 ? chunk : Buffer.concat([heldBytes, chunk]);
    for (;;) {
      if (heldBytes.length < startBytes) return null;
      const end = start.test(heldBytes.toString("latin1", 0, startBytes))
        ? heldBytes.indexOf(headEnd)
        : -1;
      if (end === -1) break;
      heldBytes = heldBytes.subarray(end + headEnd.length);
    }
    const isInterim = start.test(heldBytes.toString("latin1", 0, startBytes));
    if (isInterim && heldBytes.length < maxHeadBytes) return null;
    const finalBytes = heldBytes;
    isAtStart = false;
    heldBytes = Buffer.alloc(0);
    return finalBytes;
  }

  return {
    attach(socket) {
      heldBytes = Buffer.alloc(0);
      const readChunk = socket.read.bind(socket);
      socket.read = (size) => {
        for (;;) {
          const chunk: Buffer | null = readChunk(size);
          if (chunk === null || !isAtStart) return chunk;
          const finalBytes = filter(chunk);
          if (finalBytes !== null) return finalBytes;
        }
      };
    },
    expectResponse() {
      isAtStart = true;
    },
  };
}
