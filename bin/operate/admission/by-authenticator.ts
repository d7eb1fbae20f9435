/** Outside loopback: whoever the configured authenticator lets in, by `Authorization` or by the cookie of the sign-in form. */
import { createHmac, hash, randomBytes } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { SekishoError } from "../../../contracts/errors.ts";
import type { Authenticator } from "../../../lambdas/execution/host/authenticator/authenticator.ts";
import type { Log } from "../../../lambdas/shared/log.ts";
import { one } from "../../web/request.ts";
import type { Admission, Admitted, Refusal } from "./admission.ts";
import { cookieOf, endedCookie, fitsCookie, tokenIn } from "./cookie.ts";
import { createFailures, type Failures } from "./failures.ts";
import { isDocument } from "./is-document.ts";
import { isOwnOrigin } from "./own-origin.ts";

const streamMs = 5 * 60_000;
const maxKnown = 100;
const otherSite: Refusal = {
  status: 403,
  words: "Only this page may ask this. A proxy before it must pass on Host as it came.",
};
const unknown: Refusal = { status: 401, words: "Sign in, or send Authorization: Bearer with a token." };

/**
 * A token is verified at each request. After too many failures of an address nothing from there is looked at for a while but
 * what was good before, so that whoever guesses behind a common proxy locks nobody else out.
 */
export function byAuthenticator({
  authenticator,
  failures = createFailures(),
  log,
}: {
  authenticator: Authenticator;
  failures?: Failures;
  log: Log;
}): Admission {
  const key = randomBytes(32);
  const known = new Set<string>();
  const isPlatform = authenticator.kind === "platform";

  async function verify(request: IncomingMessage, authorization: string | undefined): Promise<Refusal | Admitted> {
    if (!isPlatform && authorization === undefined) return unknown;
    const address = request.socket.remoteAddress ?? "";
    const digest = createHmac("sha256", key)
      .update(authorization ?? "")
      .digest("hex");
    const waitMs = known.has(digest) ? undefined : failures.waitMs(address);
    if (waitMs !== undefined) {
      const retryAfterSeconds = Math.ceil(waitMs / 1000);
      return { status: 429, words: "Too many failed sign-ins. Try again in a minute.", retryAfterSeconds };
    }
    const answer = await asked(request, authorization);
    if ("operator" in answer) keep(digest);
    else {
      known.delete(digest);
      if (answer.status !== 503) {
        failures.note(address);
        log.warn("operator_refused", { address, status: answer.status });
      }
    }
    return answer;
  }

  async function asked(request: IncomingMessage, authorization: string | undefined): Promise<Refusal | Admitted> {
    const header = (name: string) => (name === "authorization" ? authorization : one(request.headers[name]));
    try {
      const platformPrincipal = isPlatform ? "platform" : undefined;
      const principal = await authenticator.authenticate({ header, platformPrincipal });
      return principal === undefined ? unknown : { operator: operatorOf(principal) };
    } catch (thrown) {
      const reason = thrown instanceof SekishoError ? thrown.reason : undefined;
      if (reason === "permission_denied") return { status: 403, words: "It is known who you are, and you may not." };
      if (reason === "unauthenticated") return unknown;
      log.warn("operator_not_verified", { cause_kind: thrown instanceof Error ? thrown.name : typeof thrown });
      return { status: 503, words: "Whether the token is good cannot be told now. Try again in a minute." };
    }
  }

  function keep(digest: string): void {
    known.delete(digest);
    known.add(digest);
    const [oldest] = known;
    if (oldest !== undefined && known.size > maxKnown) known.delete(oldest);
  }

  function isFromElsewhere(request: IncomingMessage): boolean {
    const { host, origin, authorization, "sec-fetch-site": fetchSite } = request.headers;
    const site = isDocument(request) ? undefined : one(fetchSite);
    const authorized = authorization !== undefined;
    return !isOwnOrigin({ method: request.method, host, origin, fetchSite: site, authorized });
  }

  /** Of whoever has a name of their own a digest: it may be an address of mail. */
  function operatorOf(principal: string): string {
    return principal === authenticator.kind ? principal : hash("sha256", principal).slice(0, 16);
  }

  const common = {
    streamMs,
    async admit(request: IncomingMessage) {
      if (isFromElsewhere(request)) return otherSite;
      const { authorization, cookie } = request.headers;
      const token = tokenIn(cookie);
      return verify(request, authorization ?? (token === undefined ? undefined : `Bearer ${token}`));
    },
  };
  if (isPlatform) return { ...common, signsIn: false };
  return {
    ...common,
    signsIn: true,
    async signIn(request, token) {
      if (isFromElsewhere(request)) return otherSite;
      if (!fitsCookie(token)) return { status: 401, words: "That is no token that a browser can keep." };
      const answer = await verify(request, `Bearer ${token}`);
      return "operator" in answer ? { cookie: cookieOf({ token, host: request.headers.host }) } : answer;
    },
    signOut: (request) => endedCookie({ host: request.headers.host }),
  };
}
