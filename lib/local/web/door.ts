/** Lets only those use a page on loopback who have its printed address. */
import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { checkOrigin, type OriginRefusal } from "./guard.ts";
import { joinHeader } from "./request.ts";
import { expiredCookie, readSessionIds, sessionCookie } from "./session-cookie.ts";
import { createSessions, type Session, type Sessions } from "./sessions.ts";

/** A working day: the page is one's own. */
const idleMs = 8 * 3600_000;
const lifeMs = 24 * 3600_000;

/** The parameter of the printed address. */
const parameter = "token";

export type Door = {
  /** The address to print: it holds the token, which the browser exchanges for a cookie. */
  address(url: string): string;
  /** `isDocument`: a link of another site may lead there. */
  admit(
    request: IncomingMessage,
    about: { isDocument: boolean; isActivity: boolean },
  ): Session<"loopback"> | DoorRefusal;
  /** The cookie of a new session; undefined where the token is another. */
  enter(request: IncomingMessage, token: string): string | undefined;
  /** Ends the session, and takes the cookie back. */
  leave(request: IncomingMessage): string;
};

export type DoorRefusal = { refused: OriginRefusal | "no_session" };

export function createDoor({
  token = randomBytes(32).toString("base64url"),
  sessions = createSessions<"loopback">({ idleMs, lifeMs }),
}: {
  token?: string;
  sessions?: Sessions<"loopback">;
} = {}): Door {
  return {
    address: (url) => `${url}?${parameter}=${token}`,
    admit(request, { isDocument, isActivity }) {
      const { host, origin, "sec-fetch-site": fetchSite } = request.headers;
      const site = isDocument ? undefined : joinHeader(fetchSite);
      const { method, socket } = request;
      const refused = checkOrigin({ method, host, origin, fetchSite: site, port: socket.localPort });
      if (refused !== undefined) return { refused };
      const found = readSessionIds(request).map((id) => sessions.find(id, { isActivity }));
      return found.find((session) => session !== undefined) ?? { refused: "no_session" };
    },
    enter(request, given) {
      return isSame(given, token) ? sessionCookie(request, sessions.open("loopback")) : undefined;
    },
    leave(request) {
      for (const id of readSessionIds(request)) sessions.close(id);
      return expiredCookie(request);
    },
  };
}

/** The token of a printed address that is being opened. */
export function readToken(request: IncomingMessage): string | undefined {
  if (request.method !== "GET") return undefined;
  return URL.parse(request.url ?? "", "http://page.invalid")?.searchParams.get(parameter) ?? undefined;
}

/** Digests are of one length, and comparing them tells nothing of the token by its time. */
function isSame(given: string, token: string): boolean {
  const digest = (text: string) => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(given), digest(token));
}
