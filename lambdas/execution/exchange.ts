/** One HTTP exchange in a shape that every server can provide, and the constructors of common answers. */

import type { Dialect } from "@sekisho/contracts/dialects.ts";
import type { RequestId } from "@sekisho/contracts/envelope.ts";
import { createErrorResponse } from "@sekisho/contracts/error-data.ts";
import type { SekishoError } from "@sekisho/contracts/errors.ts";
import type { BodyRefusal } from "@sekisho/runtime/http/read-body.ts";
import type { OpenBodyShare } from "@sekisho/runtime/http/server-limits.ts";
import type { Trace } from "@sekisho/runtime/telemetry/telemetry.ts";
import { toWellFormedJson } from "@sekisho/runtime/untrusted-input.ts";
import type { VerifyAsker } from "./received-asker.ts";

export type Exchange = {
  method: string;
  /** The URL's path, without the query. */
  path: string;
  /** A parameter of the URL's query, its name in any letter case. */
  query(name: string): string | undefined;
  /** By lower-case name. */
  header(name: string): string | undefined;
  /** The principal that the platform in front of the entry has authenticated. It never comes from the request itself. */
  platformPrincipal?: string | undefined;
  /** The address of the peer, or of the proxy in front of it. Headers about it are not trusted. */
  sourceAddress?: string | undefined;
  /** Called at most once, and not at all for a request that was refused before. A body that is being read reserves its bytes. */
  readBody(request: {
    maxBytes: number;
    openShare: OpenBodyShare;
  }): Promise<Uint8Array | BodyRefusal>;
  /** True if an answer may be streamed. */
  canStream: boolean;
  /** Creates a signal that aborts when the client disconnects or the server closes. Most answers need none. */
  openSignal(): AbortSignal;
};

export type WholeResponse = { status: number; headers: Record<string, string>; body: string };

/** A streamed body is read to its end, or its iterator is returned. Used only if the exchange `canStream`. */
export type ExchangeResponse = Omit<WholeResponse, "body"> & {
  body: string | AsyncIterable<string>;
};

/**
 * `principal` is the authenticated caller. `receivedAtMs` is the time before the body was read. `verifyAsker` is for the requests that bring
 * a person's word, and is absent if the host verifies no askers.
 */
export type AuthenticatedCaller = {
  principal: string;
  trace: Trace | undefined;
  receivedAtMs: number;
  verifyAsker?: VerifyAsker;
};

const headers = {
  "content-type": "application/json",
  "cache-control": "no-store",
  "x-content-type-options": "nosniff",
};

/** An answer of JSON with status 200. */
export function createJsonAnswer(body: unknown): WholeResponse {
  return { status: 200, headers, body: toWellFormedJson(body) };
}

/** An error answer with the status of its dialect. A 401 names the authentication scheme (RFC 9110, section 15.5.2). */
export function createErrorAnswer(request: {
  error: SekishoError;
  id: RequestId | null;
  dialect: Dialect;
}): WholeResponse {
  const { status, headers: errorHeaders, body } = createErrorResponse(request);
  const challenge = status === 401 ? { "www-authenticate": "Bearer" } : {};
  return {
    status,
    headers: { ...headers, ...errorHeaders, ...challenge },
    body: JSON.stringify(body),
  };
}

export function createEmptyAnswer({
  status,
  allow,
}: {
  status: number;
  allow?: string;
}): WholeResponse {
  return { status, headers: { "cache-control": "no-store", ...(allow && { allow }) }, body: "" };
}
