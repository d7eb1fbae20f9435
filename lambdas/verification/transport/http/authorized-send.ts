/** Requests over HTTP with an authorizer's credentials, over kept connections: what every transport to a URL has in common. */
import { Agent as HttpAgent } from "node:http";
import { Agent as HttpsAgent } from "node:https";
import { urlToHttpOptions } from "node:url";
import { SekishoError } from "../../../../contracts/errors.ts";
import { abortable } from "../abortable.ts";
import type { AddedCredentials, AuthorizableRequest, Authorizer } from "../authorizer/authorizer.ts";
import type { Refuse } from "./refusal.ts";
import { type HttpResponse, isCertificateRefused, sendOnce } from "./send-once.ts";

/** Kept connections are dropped before common peers drop them (node:http after 5 s), since a write into a closing one is ambiguous. */
const idleMs = 4000;

/** `url` must be a checked one (checked-url.ts). `refuse` says which responses are not to be read (`refusalOf` where absent). */
export type AuthorizedRequest = AuthorizableRequest & {
  maxResponseBytes: number;
  /** A larger response is read without its long strings. */
  shortens?: boolean;
  refuse?: Refuse;
};

export type AuthorizedSend = {
  send(request: AuthorizedRequest): Promise<HttpResponse>;
  /** Lets kept connections go. */
  close(): void;
};

/**
 * `send` rejects as `sendOnce` does. `authorizer` is asked for each attempt; a 401 lets it forget what it kept and repeats the
 * request once, which is safe: a 401 says that nothing was processed. A 403 lets it forget as well, since AWS answers that for
 * a session that has ended, and others for a certificate; the answer stands.
 */
export function createAuthorizedSend({
  authorizer,
  connectTimeoutMs,
  now,
}: {
  authorizer: Authorizer;
  connectTimeoutMs: number | undefined;
  now: () => number;
}): AuthorizedSend {
  const options = { keepAlive: true, timeout: idleMs };
  const agents = { http: new HttpAgent(options), https: new HttpsAgent(options) };

  async function attempt({ method, url, headers: given, body, signal, refuse, ...reading }: AuthorizedRequest) {
    const headers = { ...given, "accept-encoding": "identity" };
    const added = await authorize({ authorizer, request: { method, url, headers, body, signal } });
    const agent = url.protocol === "https:" ? agents.https : agents.http;
    const response = await sendOnce({
      target: { ...urlToHttpOptions(url), method, agent, ...added.tls },
      headers: { ...headers, ...added.headers },
      body,
      signal,
      ...reading,
      nowMs: now(),
      connectTimeoutMs,
      refuse,
    }).catch((thrown) => {
      // A certificate that the peer does not take ends the connection that stood, often without a word about why.
      const isRefused = thrown instanceof SekishoError && (!thrown.undelivered || isCertificateRefused(thrown.cause));
      if (added.tls !== undefined && isRefused && !signal.aborted) authorizer.refresh?.(added);
      throw thrown;
    });
    return { response, added };
  }

  return {
    async send(request) {
      const { response, added } = await attempt(request);
      if (response.status !== 401 && response.status !== 403) return response;
      authorizer.refresh?.(added);
      if (response.status === 403 || authorizer.refresh === undefined) return response;
      return (await attempt(request)).response;
    },
    close() {
      for (const agent of Object.values(agents)) agent.destroy();
    },
  };
}

/** Nothing was sent yet: what fails here, or takes too long, is `unavailable` unless the authorizer says that it was refused. */
async function authorize({
  authorizer,
  request,
}: {
  authorizer: Authorizer;
  request: AuthorizableRequest;
}): Promise<AddedCredentials> {
  try {
    const added = authorizer.authorize(request);
    return added instanceof Promise ? await abortable({ promise: added, signal: request.signal }) : added;
  } catch (thrown) {
    throw thrown instanceof SekishoError
      ? thrown
      : new SekishoError("unavailable", { cause: thrown, undelivered: true });
  }
}
