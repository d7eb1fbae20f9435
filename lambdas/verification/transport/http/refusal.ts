/** What is refused by a response's head alone, before its body is read. Pure. */
import type { IncomingHttpHeaders } from "node:http";
import { SekishoError } from "../../../../contracts/errors.ts";
import { isJson } from "../content-type.ts";
import { tooLarge } from "../read-capped.ts";

export type ResponseHead = { status: number; headers: IncomingHttpHeaders; maxBytes: number };
export type Refuse = (head: ResponseHead) => SekishoError | undefined;

/** Redirects are not followed: the request, its credentials included, is for the configured URL alone. */
export function refusalOf({ status, headers, maxBytes }: ResponseHead): SekishoError | undefined {
  const encoding = headers["content-encoding"] ?? "identity";
  if (isRedirection(status) || encoding.toLowerCase() !== "identity" || !isJson(headers["content-type"])) {
    return new SekishoError("invalid_response");
  }
  return Number(headers["content-length"] ?? 0) > maxBytes ? tooLarge() : undefined;
}

/** Redirects, and "not modified". */
export function isRedirection(status: number): boolean {
  return status >= 300 && status < 400;
}
