/** What went wrong on the way to a credential: a code for the call's log, and what it means for the call. */
import { SekishoError } from "../../../../contracts/errors.ts";

/** The cause of an authorizer's error. `code` is the issuer's own word, or what happened on the way; never a text. */
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
export function credentialFailure({
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
