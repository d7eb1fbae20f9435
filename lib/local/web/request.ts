/** How a page's server reads what a browser sends. Pure but for the request itself. */
import type { IncomingMessage } from "node:http";

export function hasContentType(request: IncomingMessage, type: string): boolean {
  return request.headers["content-type"]?.toLowerCase().split(";", 1)[0]?.trim() === type;
}

/** One text of a header that may have come several times. */
export function joinHeader(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header.join(",") : header;
}

/** Undefined where it is no JSON. */
export function parseJson(body: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(body).toString());
  } catch {
    return undefined;
  }
}
