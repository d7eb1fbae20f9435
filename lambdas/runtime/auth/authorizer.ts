/** Adds credentials to one outgoing HTTP request. Also checks URLs and creates the errors of authorizers. */
import { SekishoError } from "@sekisho/contracts/errors.ts";
import { isLoopbackHost, isSecureUrl } from "@sekisho/contracts/loopback.ts";
import type { CallAsker } from "../asker/asker.ts";
import type { HttpMethod } from "../http/client.ts";
import { parseUrl } from "../untrusted-input.ts";

export type OutgoingRequest = {
  method: HttpMethod;
  url: URL;
  /** Names in lower case. */
  headers: Readonly<Record<string, string>>;
  /** Empty for a GET. */
  body: Uint8Array;
  /** The person behind the call, for authorizers that prove who asked. */
  asker?: CallAsker | undefined;
  /** The token of a person that the Execution host has received and verified, for an agent that trades it. `person` names the person. */
  received?: { person: string; token: string } | undefined;
  signal: AbortSignal;
};

/** Headers to add, and the client certificate in PEM. `ca` replaces the default certificate authorities. */
export type AddedCredentials = {
  readonly headers?: Readonly<Record<string, string>>;
  readonly tls?: { readonly cert: string; readonly key: string; readonly ca?: string };
};

export type Authorizer = {
  /**
   * Returns the credentials to add, without a promise if they are cached. Called for each attempt. Rejects with `unauthenticated` if the
   * issuer refuses for good, else with `unavailable`. It never rejects with `ambiguous`, because the request was not sent yet.
   */
  authorize(request: OutgoingRequest): AddedCredentials | Promise<AddedCredentials>;
  /**
   * Drops the cached credentials if they are the refused ones, so that many refusals at once cause one renewal. Absent if there is
   * nothing to renew.
   */
  refresh?(refusedCredentials: AddedCredentials): void;
};

/** Allows loopback hosts only. For any other host it throws `unauthenticated` before a byte is sent. */
export const noAuthorizer: Authorizer = {
  authorize({ url }) {
    if (!isLoopbackHost(url.hostname)) throw new SekishoError("unauthenticated");
    return {};
  },
};

/** Throws for a URL that is not https (http on loopback) or that contains credentials. The message does not repeat the URL. */
export function parseCheckedUrl(address: string): URL {
  const url = parseUrl(address);
  if (url === null) throw new Error("The url must be an absolute URL.");
  if (!isSecureUrl(url))
    throw new Error(`The url must be https (http only on loopback), not ${url.protocol}//.`);
  if (url.username !== "" || url.password !== "")
    throw new Error("The url must not contain credentials.");
  return url;
}

/** The cause of an authorizer's error. `code` is an error code of the issuer or the network, never free text. */
export class CredentialError extends Error {
  readonly code: string;

  constructor(code: string) {
    super(`Could not get a credential: ${code}.`);
    this.name = "CredentialError";
    this.code = code;
  }
}

/** Returns `unauthenticated` if the issuer refused for good (a 4xx other than 408 and 429), else `unavailable`. */
export function createCredentialError(options: {
  status?: number;
  code: string;
  retryAfterMs?: number | undefined;
}): SekishoError {
  const { status = 0, code, retryAfterMs } = options;
  const isFinal = status >= 400 && status < 500 && status !== 408 && status !== 429;
  return new SekishoError(isFinal ? "unauthenticated" : "unavailable", {
    details: isFinal || retryAfterMs === undefined ? {} : { retry_after_ms: retryAfterMs },
    certainty: "undelivered",
    cause: new CredentialError(code),
  });
}

/** Returns a code such as ECONNREFUSED, or the error's class, never its message. */
export function codeOf(error: unknown): string {
  if (typeof error !== "object" || error === null) return "Unknown";
  if ("code" in error && typeof error.code === "string") return error.code;
  return "name" in error && typeof error.name === "string" ? error.name : "Unknown";
}
