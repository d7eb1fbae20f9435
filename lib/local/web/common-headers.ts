/** What every answer of a page says to the browser: keep nothing, guess nothing, tell nobody. */
import type { ServerResponse } from "node:http";
import { sanitizeJsonValue } from "../../../lambdas/shared/untrusted-input.ts";

export const commonHeaders = {
  "cache-control": "no-store",
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
};

export function respondJson(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { ...commonHeaders, "content-type": "application/json" });
  response.end(JSON.stringify(body, sanitizeJsonValue));
}
