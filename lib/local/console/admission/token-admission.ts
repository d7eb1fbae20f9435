/** Outside loopback: whoever the configured authenticator lets in, by `Authorization` or by the session of the sign-in form. */

import { hash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { SekishoError } from "../../../../contracts/errors.ts";
import type { Authenticator } from "../../../../lambdas/execution/http/exchange.ts";
import type { Log } from "../../../../lambdas/shared/log.ts";
import { errorKind } from "../../../../lambdas/shared/telemetry/error-kind.ts";
import { joinHeader } from "../../web/request.ts";
import { expiredCookie, readSessionIds, sessionCookie } from "../../web/session-cookie.ts";
import { createSessions, type Sessions } from "../../web/sessions.ts";
import { type Admission, type AdmissionRefusal, type AdmittedOperator, streamMs } from "./admission.ts";
import { createFailureLimit, type FailureLimit } from "./failure-limit.ts";
import { isActivity, isDocument } from "./is-document.ts";
import { isOwnOrigin } from "./own-origin.ts";

const idleMs = 30 * 60_000;
const lifeMs = 12 * 3600_000;
const tokenPattern = /^[\x21-\x7e]+$/;

const otherSite: AdmissionRefusal = {
  status: 403,
  words: "Only this page may ask this. A proxy before it must pass on Host as it came.",
};
const unknown: AdmissionRefusal = { status: 401, words: "Sign in, or send Authorization: Bearer with a token." };

/**
 * A token is verified at each request, also the one that a session stands for. It is verified before failures are counted: a
 * right token gets in whatever others try from the same address. After too many failures the wrong ones only hear that they
 * are too many, and the log hears nothing more of them for a while.
 */
export function createTokenAdmission({
  authenticator,
  publicHost,
  sessions = createSessions<string>({ idleMs, lifeMs }),
  failures = createFailureLimit(),
  log,
}: {
  authenticator: Authenticator;
  /** Where given, `Host` must be this: a name that an attacker's DNS leads here is another one. */
  publicHost?: string | undefined;
  /** Each stands for the token that it was opened with. */
  sessions?: Sessions<string>;
  failures?: FailureLimit;
  log: Log;
}): Admission {
  const isPlatform = authenticator.kind === "platform";

  async function verify(
    request: IncomingMessage,
    authorization: string | undefined,
  ): Promise<AdmissionRefusal | AdmittedOperator> {
    if (!isPlatform && authorization === undefined) return unknown;
    const answer = await asked(request, authorization);
    if ("operator" in answer || answer.status === 503) return answer;
    const address = request.socket.remoteAddress ?? "";
    const waitMs = failures.waitMs(address);
    if (waitMs !== undefined) {
      const retryAfterSeconds = Math.ceil(waitMs / 1000);
      return { status: 429, words: "Too many failed sign-ins. Try again in a minute.", retryAfterSeconds };
    }
    failures.note(address);
    log.warn("operator_refused", { address, status: answer.status });
    return answer;
  }

  async function asked(
    request: IncomingMessage,
    authorization: string | undefined,
  ): Promise<AdmissionRefusal | AdmittedOperator> {
    const header = (name: string) => (name === "authorization" ? authorization : joinHeader(request.headers[name]));
    try {
      const platformPrincipal = isPlatform ? "platform" : undefined;
      const principal = await authenticator.authenticate({ header, platformPrincipal });
      return principal === undefined ? unknown : { operator: operatorOf(principal) };
    } catch (thrown) {
      const reason = thrown instanceof SekishoError ? thrown.reason : undefined;
      if (reason === "permission_denied") return { status: 403, words: "It is known who you are, and you may not." };
      if (reason === "unauthenticated") return unknown;
      log.warn("operator_not_verified", { cause_kind: errorKind(thrown) });
      return { status: 503, words: "Whether the token is good cannot be told now. Try again in a minute." };
    }
  }

  function isFromElsewhere(request: IncomingMessage): boolean {
    const { host, origin, authorization, "sec-fetch-site": fetchSite } = request.headers;
    if (publicHost !== undefined && host?.toLowerCase() !== publicHost.toLowerCase()) return true;
    const site = isDocument(request) ? undefined : joinHeader(fetchSite);
    const authorized = authorization !== undefined;
    return !isOwnOrigin({ method: request.method, host, origin, fetchSite: site, authorized });
  }

  /** Of whoever has a name of their own a digest: it may be an address of mail. */
  function operatorOf(principal: string): string {
    return principal === authenticator.kind ? principal : hash("sha256", principal).slice(0, 16);
  }

  /** A session whose token lets nobody in any more is over. */
  async function admitSession(request: IncomingMessage): Promise<AdmissionRefusal | AdmittedOperator> {
    for (const id of readSessionIds(request)) {
      const session = sessions.find(id, { isActivity: isActivity(request) });
      if (session === undefined) continue;
      const answer = await verify(request, `Bearer ${session.grant}`);
      // Somebody may have signed out while the token was verified.
      if (session.ended.aborted) continue;
      if ("operator" in answer) return { ...answer, ended: session.ended };
      if (answer.status !== 503) sessions.close(id);
      return answer;
    }
    return unknown;
  }

  const common = {
    streamMs,
    async admit(request: IncomingMessage) {
      if (isFromElsewhere(request)) return otherSite;
      const { authorization } = request.headers;
      return isPlatform || authorization !== undefined ? verify(request, authorization) : admitSession(request);
    },
  };
  if (isPlatform) return { ...common, signsIn: false };
  return {
    ...common,
    signsIn: true,
    async signIn(request, token) {
      if (isFromElsewhere(request)) return otherSite;
      if (!tokenPattern.test(token)) return { status: 401, words: "That is no token." };
      const answer = await verify(request, `Bearer ${token}`);
      return "operator" in answer ? { cookie: sessionCookie(request, sessions.open(token)) } : answer;
    },
    signOut(request) {
      for (const id of readSessionIds(request)) sessions.close(id);
      return expiredCookie(request);
    },
  };
}
