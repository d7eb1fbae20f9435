/** What is refused by a response's head alone, before its body is read. */

import type { IncomingHttpHeaders } from "node:http";
import { SekishoError } from "../../../../contracts/errors.ts";
import { isLoopbackHost } from "../../../../contracts/loopback.ts";
import { isAnnouncedLarger } from "../../../shared/http/read-body.ts";
import { parseUrl } from "../../../shared/parse-url.ts";
import { tooLarge } from "../read-response.ts";

export type ResponseHead = { status: number; headers: IncomingHttpHeaders; maxBytes: number };
export type Refuse = (head: ResponseHead) => SekishoError | undefined;

/** Redirects are not followed: the request, its credentials included, is for the configured URL alone. */
export function refusalOf({ status, headers, maxBytes }: ResponseHead): SekishoError | undefined {
  const encoding = headers["content-encoding"] ?? "identity";
  if (isRedirection(status) || encoding.toLowerCase() !== "identity" || !isJson(headers["content-type"])) {
    return new SekishoError("invalid_response");
  }
  return isAnnouncedLarger({ contentLength: headers["content-length"], maxBytes }) ? tooLarge() : undefined;
}

/** Redirects, and "not modified". */
export function isRedirection(status: number): boolean {
  return status >= 300 && status < 400;
}

// Where requests with credentials may go.

/** Throws for a URL that is not https (http on loopback) or that holds credentials; the message repeats neither. */
export function checkedUrl(address: string): URL {
  const url = parseUrl(address);
  if (url === null) throw new Error("The url must be an absolute URL.");
  const isAllowed = url.protocol === "https:" || (url.protocol === "http:" && isLoopbackHost(url.hostname));
  if (!isAllowed) throw new Error(`The url must be https (http only on loopback), not ${url.protocol}//.`);
  if (url.username !== "" || url.password !== "") throw new Error("The url must not hold credentials.");
  return url;
}

// Which media types count as JSON.

/** `application/json` and `application/…+json`, in UTF-8 or without a charset. An absent type is taken at its body's word. */
export function isJson(contentType: string | null | undefined): boolean {
  if (contentType === null || contentType === undefined || contentType === "") return true;
  return /^application\/([a-z0-9.-]+\+)?json\s*(;\s*charset="?utf-?8"?\s*)?$/i.test(contentType.trim());
}
