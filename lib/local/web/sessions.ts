/** Sessions of browsers: a random id in a cookie, and on the server what it stands for. Nothing of it outlives the process. */
import { createHash, randomBytes } from "node:crypto";

export type Session<T> = {
  grant: T;
  /** Aborted when the session ends, so that its open streams end with it. */
  ended: AbortSignal;
};

export type Sessions<T> = {
  /** Resolves to the id, which only the browser keeps. */
  open(grant: T): string;
  /** `isActivity`: somebody uses it now, which puts the idle time-out off. */
  find(id: string, use: { isActivity: boolean }): Session<T> | undefined;
  close(id: string): void;
};

const maxSessions = 100;

type Entry<T> = Session<T> & { endsAtMs: number; usedAtMs: number; end(): void };

/** A session ends `idleMs` after its last use, and `lifeMs` after it began at the latest. The one unused for longest makes room. */
export function createSessions<T>({
  idleMs,
  lifeMs,
  now = Date.now,
  newId = () => randomBytes(32).toString("base64url"),
}: {
  idleMs: number;
  lifeMs: number;
  now?: () => number;
  newId?: () => string;
}): Sessions<T> {
  const entries = new Map<string, Entry<T>>();

  function remove(key: string): void {
    entries.get(key)?.end();
    entries.delete(key);
  }

  function dropEnded(): void {
    for (const [key, { endsAtMs, usedAtMs }] of entries) {
      if (now() >= Math.min(endsAtMs, usedAtMs + idleMs)) remove(key);
    }
  }

  return {
    open(grant) {
      dropEnded();
      const [leastUsed] = entries.keys();
      if (leastUsed !== undefined && entries.size >= maxSessions) remove(leastUsed);
      const id = newId();
      const key = keyOf(id);
      const controller = new AbortController();
      const timer = setTimeout(() => remove(key), lifeMs).unref();
      const end = () => {
        clearTimeout(timer);
        controller.abort();
      };
      entries.set(key, { grant, ended: controller.signal, endsAtMs: now() + lifeMs, usedAtMs: now(), end });
      return id;
    },
    find(id, { isActivity }) {
      dropEnded();
      const key = keyOf(id);
      const entry = entries.get(key);
      if (entry === undefined || !isActivity) return entry;
      entry.usedAtMs = now();
      // The map's order is that of the last use.
      entries.delete(key);
      entries.set(key, entry);
      return entry;
    },
    close: (id) => remove(keyOf(id)),
  };
}

/** The time that a look-up takes tells nothing of an id. */
function keyOf(id: string): string {
  return createHash("sha256").update(id).digest("base64url");
}
