/** The host's answers in one piece: JSON, an error of a dialect, or nothing but a status. */
import type { Dialect } from "../../../contracts/dialects.ts";
import type { RequestId } from "../../../contracts/envelope.ts";
import { errorResponseIn } from "../../../contracts/error-response.ts";
import type { SekishoError } from "../../../contracts/errors.ts";
import type { WholeResponse } from "./exchange.ts";

const headers = {
  "content-type": "application/json",
  "cache-control": "no-store",
  "x-content-type-options": "nosniff",
};

export function json(body: unknown): WholeResponse {
  return { status: 200, headers, body: JSON.stringify(body) };
}

/** With the status that the dialect gives the error. RFC 9110, section 15.5.2: a 401 says how one would be let in. */
export function errorAnswer(request: { error: SekishoError; id: RequestId | null; dialect: Dialect }): WholeResponse {
  const { status, headers: added, body } = errorResponseIn(request);
  const challenge = status === 401 ? { "www-authenticate": "Bearer" } : {};
  return { status, headers: { ...headers, ...added, ...challenge }, body: JSON.stringify(body) };
}

export function empty({ status, allow }: { status: number; allow?: string }): WholeResponse {
  return { status, headers: { "cache-control": "no-store", ...(allow && { allow }) }, body: "" };
}
