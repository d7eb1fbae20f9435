/** Bounds what the clients of an HTTP server can make it hold: the bytes of bodies that are being read, and connections. */
import type { Socket } from "node:net";

/** Enough for thousands of small requests. */
export const defaultMaxHeldBytes = 16 * 1024 * 1024;

/** The share of one body. */
export type BodyShare = {
  /** Returns false if the body must be given up, because there is no room for it or it was cut off. */
  reserve(bytes: number): boolean;
  /** Marks the body as read to its end, so that it is never cut off. */
  complete(): void;
  /** Returns everything that was reserved. */
  release(): void;
};

/** `cutOff` is called at most once, when the body must make room for another. It drops what was read. */
export type OpenBodyShare = (cutOff: () => void) => BodyShare;

export type BodyBudget = { openShare(body: { owner: string; cutOff: () => void }): BodyShare };

type OwnerBodies = {
  bytes: number;
  /** The functions that cut off the bodies that are still being read, the oldest first. */
  unfinished: Set<() => void>;
};

/**
 * Bounds the memory of request bodies. When it is full, the owner that holds most loses its oldest body that is still being read. So callers
 * that never finish their bodies cannot block new requests, and no owner can take room from one that holds less. Counts the bytes that
 * arrived, not the announced length.
 */
export function createBodyBudget({ maxBytes }: { maxBytes: number }): BodyBudget {
  let heldBytes = 0;
  const owners = new Map<string, OwnerBodies>();

  /** Makes room at the cost of an owner that would hold at least as much as `wanting`. Returns false if there is none. */
  function makeRoom({
    wanting,
    own,
    bytes,
  }: {
    wanting: OwnerBodies;
    own: () => void;
    bytes: number;
  }): boolean {
    let largest: { bytes: number; cutOff: () => void } | undefined;
    for (const owner of owners.values()) {
      const ownerBytes = owner === wanting ? owner.bytes + bytes : owner.bytes;
      if (ownerBytes < (largest?.bytes ?? wanting.bytes + bytes)) continue;
      for (const cutOff of owner.unfinished) {
        if (cutOff === own) continue;
        largest = { bytes: ownerBytes, cutOff };
        break;
      }
    }
    largest?.cutOff();
    return largest !== undefined;
  }

  return {
    openShare({ owner, cutOff }) {
      let ownBytes = 0;
      let isCutOff = false;

      function hold(bytes: number): void {
        const bodies = owners.get(owner) ?? { bytes: 0, unfinished: new Set() };
        ownBytes += bytes;
        heldBytes += bytes;
        bodies.bytes += bytes;
        bodies.unfinished.add(own);
        owners.set(owner, bodies);
      }

      function release(): void {
        const bodies = owners.get(owner);
        if (bodies === undefined) return;
        bodies.unfinished.delete(own);
        bodies.bytes -= ownBytes;
        heldBytes -= ownBytes;
        ownBytes = 0;
        if (bodies.bytes === 0 && bodies.unfinished.size === 0) owners.delete(owner);
      }

      function own(): void {
        isCutOff = true;
        release();
        cutOff();
      }

      return {
        reserve(bytes) {
          const wanting = owners.get(owner) ?? { bytes: 0, unfinished: new Set() };
          while (!isCutOff && heldBytes + bytes > maxBytes) {
            if (!makeRoom({ wanting, own, bytes })) return false;
          }
          if (isCutOff) return false;
          hold(bytes);
          return true;
        },
        complete: () => void owners.get(owner)?.unfinished.delete(own),
        release,
      };
    },
  };
}

/**
 * Bounds the connections: at most `max`, and at most `maxWaiting` of those that have no protected request. At a limit, a new connection
 * closes the one that has waited longest, or is closed itself if none waits.
 */
export function createConnectionLimit({
  max,
  maxWaiting = max,
}: {
  max: number;
  maxWaiting?: number;
}): {
  add(socket: Socket): void;
  /** Keeps the connection open until the returned function is called. */
  protect(socket: Socket): () => void;
} {
  /** The one that has waited longest is first. */
  const waiting = new Set<Socket>();
  /** The number of protected requests per connection. */
  const requests = new Map<Socket, number>();

  function closeOldest(): void {
    const [oldest] = waiting;
    if (oldest === undefined) return;
    waiting.delete(oldest);
    oldest.destroy();
  }

  return {
    add(socket) {
      waiting.add(socket);
      socket.once("close", () => {
        waiting.delete(socket);
        requests.delete(socket);
      });
      while (waiting.size > maxWaiting || (waiting.size > 0 && waiting.size + requests.size > max))
        closeOldest();
    },
    protect(socket) {
      if (socket.destroyed) return () => {};
      waiting.delete(socket);
      requests.set(socket, (requests.get(socket) ?? 0) + 1);
      return () => {
        const count = requests.get(socket);
        if (count === undefined) return;
        if (count > 1) requests.set(socket, count - 1);
        else {
          requests.delete(socket);
          waiting.add(socket);
        }
      };
    },
  };
}
