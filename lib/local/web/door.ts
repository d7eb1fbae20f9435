/** Admission on loopback: admits a browser that opens the printed address, which holds a token. */
import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { type Admission, isActivity, isForDocument, Refusal } from "./admission.ts";
import { isFromOwnPage, loopbackHosts } from "./guard.ts";
import { createSessions } from "./sessions.ts";

/** A working day. Only the user of this machine has the page, so it needs no shorter limit. */
const idleMs = 8 * 3600_000;
const lifeMs = 24 * 3600_000;

/** The parameter of the printed address. */
export const tokenParameter = "token";

export type Door = Required<Admission> & {
  /** The address to print. The browser exchanges its token for a cookie. */
  address(url: string): string;
};

/**
 * With a `secret`, a later door with the same one has the same address, and admits the browsers that this one admitted. Then all of them
 * share one session.
 */
export function createDoor({ secret }: { secret?: string | undefined } = {}): Door {
  const derive = (use: string) => secret && createHash("sha256").update(`${use} ${secret}`).digest("base64url");
  const token = derive("token") ?? randomBytes(32).toString("base64url");
  const sessionId = derive("session");
  const sessions = createSessions<"loopback">({ idleMs, lifeMs });
  if (sessionId !== undefined) sessions.restore(sessionId, "loopback");

  function requireOwnPage(request: IncomingMessage): void {
    const { method, headers, socket } = request;
    const hosts = loopbackHosts(socket.localPort);
    if (isFromOwnPage({ method, headers, hosts, isDocument: isForDocument(request) })) return;
    throw new Refusal(403, "Requests must come from the page of this server, at http://127.0.0.1 or http://localhost.");
  }

  function enter(request: IncomingMessage, given: string): string | undefined {
    return isSame(given, token) ? sessions.open(request, "loopback", sessionId) : undefined;
  }

  return {
    address: (url) => `${url}?${tokenParameter}=${token}`,
    async admit(request) {
      requireOwnPage(request);
      const [session] = sessions.find(request, { isActivity: isActivity(request) });
      if (session !== undefined) return { operator: session.grant, ended: session.ended };
      throw new Refusal(401, "Open the address that the command printed. It contains a token.");
    },
    async signIn(request, given) {
      requireOwnPage(request);
      const cookie = enter(request, given);
      if (cookie === undefined) throw new Refusal(401, "This token is not valid.");
      return cookie;
    },
    enter,
    signOut: sessions.close,
  };
}

/** Compares digests, which have one length, so that the time says nothing about the token. */
function isSame(given: string, token: string): boolean {
  const digest = (text: string) => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(given), digest(token));
}
