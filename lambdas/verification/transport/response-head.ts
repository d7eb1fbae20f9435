/** Decides whether a response is read, by its status and its headers. */
import type { IncomingHttpHeaders } from "node:http";
import { SekishoError } from "@sekisho/contracts/errors.ts";
import { isAnnouncedLarger } from "@sekisho/runtime/http/read-body.ts";
import { createRedirectProblem, createTypeProblem } from "./peer-problem.ts";
import { createTooLargeError } from "./response-body.ts";

export type CheckResponseHead = (head: ResponseHead) => SekishoError | undefined;

type ResponseHead = {
  status: number;
  headers: IncomingHttpHeaders;
  maxBytes: number;
  /** A stream of events is read too. */
  readsEvents?: boolean;
  /** The request, so that no credential of it is shown. */
  sentRequest?: { url: URL; headers: Readonly<Record<string, string>> };
};

/** Refuses redirects, because the request and its credentials are for the configured URL alone. */
export function checkResponseHead(head: ResponseHead): SekishoError | undefined {
  const { status, headers, maxBytes, readsEvents = false, sentRequest } = head;
  const { "content-encoding": encoding = "identity", "content-type": type, location } = headers;
  if (isRedirection(status)) {
    return new SekishoError("invalid_response", {
      cause: createRedirectProblem({ status, location, sentRequest }),
    });
  }
  const isReadable = isJson(type) || (readsEvents && isEventStream(type));
  if (encoding.toLowerCase() !== "identity" || !isReadable) {
    return new SekishoError("invalid_response", { cause: createTypeProblem({ status, headers }) });
  }
  return isAnnouncedLarger({ contentLength: headers["content-length"], maxBytes })
    ? createTooLargeError()
    : undefined;
}

/** Redirects, and "not modified". */
export function isRedirection(status: number): boolean {
  return status >= 300 && status < 400;
}

/**
 * Accepts `application/json`, `application/json-rpc` and `application/…+json` with any parameters, but no charset other than UTF-8. Some hosts
 * send no type, so none is accepted too.
 */
export function isJson(contentType: string | null | undefined): boolean {
  if (contentType === null || contentType === undefined || contentType === "") return true;
  // The value of a parameter may have a semicolon in quotes.
  const [type = "", ...parameters] = contentType.match(/(?:[^;"]|"[^"]*(?:"|$))+/g) ?? [];
  const charsets = parameters.filter((parameter) => /^\s*charset\s*=/i.test(parameter));
  if (!charsets.every((charset) => /=\s*"?utf-?8"?\s*$/i.test(charset))) return false;
  return /^application\/(?:(?:[a-z0-9.-]+\+)?json|json-rpc)$/i.test(type.trim());
}

export function isEventStream(contentType: string | null | undefined): boolean {
  return /^text\/event-stream\s*(;|$)/i.test((contentType ?? "").trim());
}
