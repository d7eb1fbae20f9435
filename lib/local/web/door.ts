/** Admission on loopback: admits a browser that opens the printed address, which holds a token. */
import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { type Admission, isActivity, isForDocument, Refusal } from "./admission.ts";
import { isFromOwnPage, loopbackHosts } from "./guard.ts";
import { createSessions, newSessionId } from "./sessions.ts";

/** A working day. Only the user of this machine has the page, so it needs no shorter limit. */
const idleMs = 8 * 3600_000;
const lifeMs = 24 * 3600_000;

/** The parameter of the printed address. */
export const tokenParameter = "token";

export type Door = Required<Admission> & {
  /** The address to print. The browser exchanges its token for a cookie. */
  address(url: string): string;
};

/** The secrets of a page that several processes serve one after the other. All of its browsers share one session. */
export type SharedPage = {
  token: string;
  sessionId: string;
  /** Called with the id of the next session when one has ended, so that no later process restores the ended one. */
  keepSession(id: string): void;
};

/** With a `shared` page, a later door has the same address, and admits the browsers that this one admitted until they signed out. */
export function createDoor({ shared }: { shared?: SharedPage | undefined } = {}): Door {
  const token = shared?.token ?? randomBytes(32).toString("base64url");
  const sessions = createSessions<"loopback">({ idleMs, lifeMs });
  let sessionId: string | undefined;
  if (shared !== undefined) share(shared.sessionId);

  function share(id: string): void {
    sessionId = id;
    const { ended } = sessions.restore(id, "loopback");
    ended.addEventListener("abort", () => {
      const next = newSessionId();
      shared?.keepSession(next);
      share(next);
    });
  }

  function requireOwnPage(request: IncomingMessage): void {
    const { method, headers, socket } = request;
    const hosts = loopbackHosts(socket.localPort);
    if (isFromOwnPage({ method, headers, hosts, isDocument: isForDocument(request) })) return;
    throw new Refusal(
      403,
      "Requests must come from the page of this server, at http://127.0.0.1 or http://localhost.",
    );
  }

  function enter(request: IncomingMessage, givenToken: string): string | undefined {
    return isSame(givenToken, token) ? sessions.open(request, "loopback", sessionId) : undefined;
  }

  return {
    address: (url) => `${url}?${tokenParameter}=${token}`,
    async admit(request) {
      requireOwnPage(request);
      const [session] = sessions.find(request, { isActivity: isActivity(request) });
      if (session !== undefined) return { operator: session.grant, ended: session.ended };
      throw new Refusal(401, "Open the address that the command printed. It contains a token.");
    },
    async signIn(request, givenToken) {
      requireOwnPage(request);
      const cookie = enter(request, givenToken);
      if (cookie === undefined) throw new Refusal(401, "This token is not valid.");
      return cookie;
    },
    enter,
    signOut: sessions.close,
  };
}

/** Compares digests, which have one length, so that the time says nothing about the token. */
function isSame(givenToken: string, token: string): boolean {
  const digest = (text: string) => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(givenToken), digest(token));
}
