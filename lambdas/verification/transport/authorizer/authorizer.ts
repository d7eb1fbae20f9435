/** The authorizer type of the HTTP transports: adds credentials to one outgoing request. Its URL check and error are here too. */
import { SekishoError } from "../../../../contracts/errors.ts";
import { isLoopbackHost } from "../../../../contracts/loopback.ts";
import { parseUrl } from "../../../shared/untrusted-input.ts";

export type AuthorizableRequest = {
  method: "GET" | "POST";
  url: URL;
  /** Names in lower case; all of them are sent as they are. */
  headers: Readonly<Record<string, string>>;
  /** Empty for a GET. */
  body: Uint8Array;
  signal: AbortSignal;
};

/** Headers to add, and the certificate to show where the peer asks for one (PEM; `ca` takes the place of the known authorities). */
export type AddedCredentials = {
  readonly headers?: Readonly<Record<string, string>>;
  readonly tls?: { readonly cert: string; readonly key: string; readonly ca?: string };
};

export type Authorizer = {
  /**
   * Returns the credentials to add, without a promise where they are cached. Called for each attempt. Rejects with `unauthenticated` where
   * the issuer refuses for good, else with `unavailable`; never with `ambiguous`, because the request was not sent yet.
   */
  authorize(request: AuthorizableRequest): AddedCredentials | Promise<AddedCredentials>;
  /**
   * Drops the cached credentials if they are the refused ones, so that of many refusals at once only the first causes a renewal. Absent
   * where there is nothing to renew.
   */
  refresh?(refused: AddedCredentials): void;
};

/** Throws `unauthenticated` for any other host, before a byte is sent. */
export const noAuthorizer: Authorizer = {
  authorize({ url }) {
    if (!isLoopbackHost(url.hostname)) throw new SekishoError("unauthenticated");
    return {};
  },
};

/** Throws for a URL that is not https (http on loopback) or that holds credentials; the message repeats neither. */
export function parseCheckedUrl(address: string): URL {
  const url = parseUrl(address);
  if (url === null) throw new Error("The url must be an absolute URL.");
  const isAllowed = url.protocol === "https:" || (url.protocol === "http:" && isLoopbackHost(url.hostname));
  if (!isAllowed) throw new Error(`The url must be https (http only on loopback), not ${url.protocol}//.`);
  if (url.username !== "" || url.password !== "") throw new Error("The url must not hold credentials.");
  return url;
}

/** The cause of an authorizer's error. `code` is the issuer's error code or a network error code; never a text. */
export class CredentialError extends Error {
  readonly code: string;

  constructor(code: string) {
    super(`There is no credential: ${code}.`);
    this.name = "CredentialError";
    this.code = code;
  }
}

/**
 * `unauthenticated` where the issuer refused for good (a 4xx besides 408 and 429), else `unavailable`: never `ambiguous`, since
 * the call's own request was not sent.
 */
export function createCredentialError({
  status = 0,
  code,
  retryAfterMs,
}: {
  status?: number;
  code: string;
  retryAfterMs?: number | undefined;
}): SekishoError {
  const isFinal = status >= 400 && status < 500 && status !== 408 && status !== 429;
  return new SekishoError(isFinal ? "unauthenticated" : "unavailable", {
    details: isFinal || retryAfterMs === undefined ? {} : { retry_after_ms: retryAfterMs },
    undelivered: true,
    cause: new CredentialError(code),
  });
}

/** A code such as ECONNREFUSED, or the error's class; never its message. */
export function codeOf(thrown: unknown): string {
  if (typeof thrown !== "object" || thrown === null) return "Unknown";
  if ("code" in thrown && typeof thrown.code === "string") return thrown.code;
  return "name" in thrown && typeof thrown.name === "string" ? thrown.name : "Unknown";
}
