/** What an HTTP status says where no JSON-RPC body came with it. */
import type { ClientReason } from "../../../contracts/errors.ts";

/**
 * 404 and 405 mean a wrong URL, never a lost task. 500, 502, 504 and every other 5xx come from somewhere between here and
 * the agent: nobody knows how far the request got. 2xx and 3xx without a JSON-RPC body break the contract.
 */
export function statusToReason(status: number): ClientReason {
  switch (status) {
    case 401:
      return "unauthenticated";
    case 403:
      return "permission_denied";
    case 413:
      return "payload_too_large";
    case 429:
      return "rate_limited";
    case 503:
      return "unavailable";
    default:
      return status >= 500 ? "ambiguous" : "invalid_response";
  }
}
