/** Admission beyond loopback, by the configured authenticator: a token in `Authorization`, or the session of the sign-in form. */
import { hash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { SekishoError } from "@sekisho/contracts/errors.ts";
import type { Authenticator } from "@sekisho/execution/authenticator/authenticator.ts";
import {
  type Admission,
  isActivity,
  isForDocument,
  Refusal,
  type Visitor,
} from "@sekisho/local/web/admission.ts";
import { isFromOwnPage } from "@sekisho/local/web/guard.ts";
import { createSessions } from "@sekisho/local/web/sessions.ts";
import { errorKind } from "@sekisho/runtime/error-kind.ts";
import type { Log } from "@sekisho/runtime/log.ts";

const idleMs = 30 * 60_000;
const lifeMs = 12 * 3600_000;
const tokenPattern = /^[\x21-\x7e]+$/;

type AdmissionOptions = {
  authenticator: Authenticator;
  publicHost?: string | undefined;
  log: Log;
  now?: () => number;
};

/**
 * Verifies a token at each request, including the token behind a session. Counts failures per address, but only after the check, so
 * that a valid token is accepted even if others fail from the same address. After too many failures, further ones are answered 429
 * and not logged for a while.
 *
 * If `publicHost` is given, the header `Host` must match it. This refuses DNS rebinding, where an attacker's name points here.
 */
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: listed until it is cut along its topics.
export function createTokenAdmission({
  authenticator,
  publicHost,
  log,
  now = Date.now,
}: AdmissionOptions): Admission {
  const isPlatform = authenticator.kind === "platform";
  /** Each session holds the token that opened it. */
  const sessions = createSessions<string>({ idleMs, lifeMs, now });
  const failures = createFailureLimit({ now });

  function requireOwnPage(request: IncomingMessage): void {
    const { method, headers } = request;
    const hosts = publicHost === undefined ? undefined : [publicHost.toLowerCase()];
    if (isFromOwnPage({ method, headers, hosts, isDocument: isForDocument(request) })) return;
    throw new Refusal(
      403,
      "Requests must come from this page. A proxy in front of it must not change the Host header.",
    );
  }

  async function verify(
    request: IncomingMessage,
    authorization: string | undefined,
  ): Promise<Visitor> {
    if (!isPlatform && authorization === undefined) throw unknownVisitor();
    try {
      return await authenticate(request, authorization);
    } catch (error) {
      const refusal = toRefusal(error);
      if (refusal.status === 503) throw refusal;
      const address = request.socket.remoteAddress ?? "";
      const waitMs = failures.waitMs(address);
      if (waitMs !== undefined) {
        const wait = { "retry-after": String(Math.ceil(waitMs / 1000)) };
        throw new Refusal(429, "Too many failed sign-ins. Try again in a minute.", wait);
      }
      failures.note(address);
      log.warn("operator_refused", { address, status: refusal.status });
      throw refusal;
    }
  }

  /** Rejects with a `Refusal` alone. */
  async function authenticate(
    request: IncomingMessage,
    authorization: string | undefined,
  ): Promise<Visitor> {
    const header = (name: string) =>
      name === "authorization" ? authorization : request.headers[name]?.toString();
    try {
      const platformPrincipal = isPlatform ? "platform" : undefined;
      const principal = await authenticator.authenticate({ header, platformPrincipal });
      if (principal === undefined) throw unknownVisitor();
      // A principal may be an email address, so the log gets a digest of it.
      return {
        operator:
          principal === authenticator.kind ? principal : hash("sha256", principal).slice(0, 16),
      };
    } catch (error) {
      if (error instanceof Refusal) throw error;
      const reason = error instanceof SekishoError ? error.reason : undefined;
      if (reason === "permission_denied")
        throw new Refusal(403, "You are signed in, but you do not have access.");
      if (reason === "unauthenticated") throw unknownVisitor();
      log.warn("operator_not_verified", { cause_kind: errorKind(error) });
      throw new Refusal(503, "The token cannot be verified right now. Try again in a minute.");
    }
  }

  /** Ends a session when its token is no longer valid. */
  async function admitSession(request: IncomingMessage): Promise<Visitor> {
    for (const { grant, ended } of sessions.find(request, { isActivity: isActivity(request) })) {
      const answer = await verify(request, `Bearer ${grant}`).catch(toRefusal);
      // Somebody may have signed out while the token was verified.
      if (ended.aborted) continue;
      if (!(answer instanceof Refusal)) return { ...answer, ended };
      if (answer.status !== 503) sessions.close(request);
      throw answer;
    }
    throw unknownVisitor();
  }

  const admit: Admission["admit"] = async (request) => {
    requireOwnPage(request);
    const { authorization } = request.headers;
    return isPlatform || authorization !== undefined
      ? verify(request, authorization)
      : admitSession(request);
  };
  if (isPlatform) return { admit };
  return {
    admit,
    async signIn(request, token) {
      requireOwnPage(request);
      const wrong = new Refusal(401, "This token is not valid.");
      if (!tokenPattern.test(token)) throw wrong;
      const answer = await verify(request, `Bearer ${token}`).catch(toRefusal);
      if (answer instanceof Refusal) throw answer.status === 401 ? wrong : answer;
      log.info("operator_signed_in", {
        address: request.socket.remoteAddress ?? "",
        operator: answer.operator,
      });
      return sessions.open(request, token);
    },
    signOut: sessions.close,
  };
}

function unknownVisitor(): Refusal {
  return new Refusal(
    401,
    "This page needs the token of an operator. Scripts send it as Authorization: Bearer.",
  );
}

/** Rethrows an unexpected error, so that no failure admits anybody. */
function toRefusal(error: unknown): Refusal {
  if (error instanceof Refusal) return error;
  throw error;
}

const maxFailures = 10;
const failureWindowMs = 60_000;
const maxAddresses = 1000;

/** Counts failed sign-ins per address, so that nobody tries tokens one after the other. */
function createFailureLimit({ now }: { now: () => number }) {
  const byAddress = new Map<string, number[]>();
  const listRecent = (address: string) => {
    return (byAddress.get(address) ?? [])
      .filter((atMs) => atMs > now() - failureWindowMs)
      .slice(-maxFailures);
  };
  return {
    /** The time that the address must wait. Undefined if it may try. */
    waitMs(address: string): number | undefined {
      const [first = 0, ...laterFailures] = listRecent(address);
      return laterFailures.length + 1 < maxFailures ? undefined : first + failureWindowMs - now();
    },
    note(address: string): void {
      const times = [...listRecent(address), now()].slice(-maxFailures);
      byAddress.delete(address);
      byAddress.set(address, times);
      const [oldest] = byAddress.keys();
      if (oldest !== undefined && byAddress.size > maxAddresses) byAddress.delete(oldest);
    },
  };
}
