/** Browser sessions: a random id in a cookie refers to a value on the server. Sessions end with the process. */
import { createHash, randomBytes } from "node:crypto";
import type { IncomingMessage } from "node:http";

export type Session<T> = {
  grant: T;
  /** Aborted when the session ends, so that its open streams end with it. */
  ended: AbortSignal;
};

export type Sessions<T> = {
  /** Returns the cookie that holds the id, a new one by default. Only the browser keeps it. */
  open(request: IncomingMessage, grant: T, id?: string): string;
  /** Begins a session whose id a browser may have from an earlier process. */
  restore(id: string, grant: T): Session<T>;
  /** The sessions that the request's cookies name. `isActivity` restarts the idle timeout. */
  find(request: IncomingMessage, use: { isActivity: boolean }): Session<T>[];
  /** Ends the request's sessions. Returns the cookie that deletes the browser's. */
  close(request: IncomingMessage): string;
};

const maxSessions = 100;

type Entry<T> = Session<T> & { endsAtMs: number; usedAtMs: number; end(): void };

type SessionOptions = { idleMs: number; lifeMs: number; now?: () => number };

/**
 * A session ends `idleMs` after its last use, and at the latest `lifeMs` after it began. When there are too many, the least recently
 * used one ends.
 */
export function createSessions<T>({ idleMs, lifeMs, now = Date.now }: SessionOptions): Sessions<T> {
  /** Least recently used first. */
  const entries = new Map<string, Entry<T>>();

  function remove(key: string): void {
    const entry = entries.get(key);
    entries.delete(key);
    entry?.end();
  }

  function dropEnded(): void {
    for (const [key, { endsAtMs, usedAtMs }] of entries) {
      if (now() >= Math.min(endsAtMs, usedAtMs + idleMs)) remove(key);
    }
  }

  function begin(id: string, grant: T): Session<T> {
    dropEnded();
    const key = keyOf(id);
    const [leastUsed] = entries.keys();
    if (leastUsed !== undefined && entries.size >= maxSessions) remove(leastUsed);
    const controller = new AbortController();
    const timer = setTimeout(() => remove(key), lifeMs).unref();
    const end = () => {
      clearTimeout(timer);
      controller.abort();
    };
    const entry = {
      grant,
      ended: controller.signal,
      endsAtMs: now() + lifeMs,
      usedAtMs: now(),
      end,
    };
    entries.set(key, entry);
    return entry;
  }

  return {
    open(request, grant, id = newSessionId()) {
      if (!entries.has(keyOf(id))) begin(id, grant);
      return formatCookie(request, id);
    },
    restore: begin,
    find(request, { isActivity }) {
      dropEnded();
      return keysIn(request).flatMap((key) => {
        const entry = entries.get(key);
        if (entry === undefined) return [];
        if (isActivity) {
          entry.usedAtMs = now();
          entries.delete(key);
          entries.set(key, entry);
        }
        return [entry];
      });
    },
    close(request) {
      keysIn(request).forEach(remove);
      return formatCookie(request, "", "; Max-Age=0");
    },
  };
}

export function newSessionId(): string {
  return randomBytes(32).toString("base64url");
}

/** Sessions are looked up by a digest, so that the time of a look-up says nothing about an id. */
function keyOf(id: string): string {
  return createHash("sha256").update(id).digest("base64url");
}

/**
 * All ports of a host share their cookies. So another port's page can set any number of cookies with our name, and the browser may
 * send those first. Each is looked up, at the price of a hash; Node limits the size of the headers.
 */
function keysIn(request: IncomingMessage): string[] {
  const { name } = cookieFor(request);
  return (request.headers.cookie ?? "").split(";").flatMap((pair) => {
    const [key, value = ""] = pair.trim().split("=");
    return key === name && /^[\w-]{1,100}$/.test(value) ? [keyOf(value)] : [];
  });
}

/** No script reads it, no other site sends it, and the browser drops it when it closes. */
function formatCookie(request: IncomingMessage, value: string, lifetime = ""): string {
  const { name, attributes } = cookieFor(request);
  return `${name}=${value}${lifetime}; Path=/; HttpOnly; SameSite=Strict${attributes}`;
}

/**
 * Browsers refuse a `__Host-` cookie without Secure, with a Domain, or below another path. It needs https. On loopback there is no
 * TLS, and Safari keeps no Secure cookie there. So the name is a plain one, with the port, because browsers do not tell ports apart.
 */
function cookieFor({ headers, socket }: IncomingMessage): { name: string; attributes: string } {
  // Behind a proxy this is the proxy's name, and the proxy has TLS.
  const isLoopback = /^(localhost|127\.\d{1,3}\.\d{1,3}\.\d{1,3}|\[::1\])(:\d+)?$/.test(
    headers.host ?? "",
  );
  if (isLoopback) return { name: `sekisho-page-${socket.localPort}`, attributes: "" };
  return { name: "__Host-sekisho-page", attributes: "; Secure" };
}
