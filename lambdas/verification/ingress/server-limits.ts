/** Limits on memory and connections for all callers of the ingress together. At a limit the oldest caller whose request is incomplete is cut off. */
import type { Socket } from "node:net";

/** The share of one request. `release` gives back all that it reserved. */
export type BodyShare = {
  /** False where nothing else can be given up, or where this body was given up itself. */
  reserve(bytes: number): boolean;
  /** The body is read to its end, and is not given up any more. */
  complete(): void;
  release(): void;
};

/**
 * Bounds the memory of request bodies. When it is full, the oldest body that is still being read is given up: whoever sends
 * bodies and never ends them cannot keep out the next request. Counts bytes that arrived, not bytes that were announced.
 */
export function createBodyBudget({ maxBytes }: { maxBytes: number }): { share(giveUp: () => void): BodyShare } {
  let heldBytes = 0;
  /** Oldest first. */
  const unfinished = new Set<{ giveUp(): void }>();
  return {
    share(giveUp) {
      let ownBytes = 0;
      let isGivenUp = false;
      const own = {
        giveUp() {
          isGivenUp = true;
          release();
          giveUp();
        },
      };
      function release() {
        unfinished.delete(own);
        heldBytes -= ownBytes;
        ownBytes = 0;
      }
      return {
        reserve(bytes) {
          for (const other of unfinished) {
            if (heldBytes + bytes <= maxBytes) break;
            if (other !== own) other.giveUp();
          }
          if (isGivenUp || heldBytes + bytes > maxBytes) return false;
          unfinished.add(own);
          heldBytes += bytes;
          ownBytes += bytes;
          return true;
        },
        complete: () => void unfinished.delete(own),
        release,
      };
    },
  };
}

/**
 * Bounds the connections. One more closes the one that has waited longest without a request that is being answered; where
 * all have one, the new connection is closed.
 */
export function createConnectionLimit({ max }: { max: number }): {
  add(socket: Socket): void;
  /** Keeps the connection open until the returned function is called. */
  protect(socket: Socket): () => void;
} {
  /** How many requests are being answered; the longest waiting connection first. */
  const requests = new Map<Socket, number>();
  return {
    add(socket) {
      if (requests.size >= max) {
        const [oldest = socket] = [...requests].flatMap(([each, count]) => (count === 0 ? [each] : []));
        requests.delete(oldest);
        oldest.destroy();
        if (oldest === socket) return;
      }
      requests.set(socket, 0);
      socket.once("close", () => requests.delete(socket));
    },
    protect(socket) {
      requests.set(socket, (requests.get(socket) ?? 0) + 1);
      return () => {
        const count = requests.get(socket);
        if (count === undefined) return;
        requests.delete(socket);
        requests.set(socket, count - 1);
      };
    },
  };
}
