/**
 * One HTTP exchange in the plainest shape, which each server gives and takes without ceremony, the methods that answer it, and answers in
 * one piece.
 */

import type { Dialect } from "../../../contracts/dialects.ts";
import type { RequestId } from "../../../contracts/envelope.ts";
import { createErrorResponse } from "../../../contracts/error-data.ts";
import { SekishoError } from "../../../contracts/errors.ts";
import type { MethodName, ParamsOf, ResultOf } from "../../../contracts/methods.ts";
import type { Trace } from "../../shared/telemetry/telemetry.ts";

export type Exchange = {
  method: string;
  /** The URL's path, without the query. */
  path: string;
  /** A parameter of the URL's query, its name in any letter case. */
  query(name: string): string | undefined;
  /** By lower-case name. */
  header(name: string): string | undefined;
  /** Whom the platform in front of the entry has authenticated; nothing that the request itself says gets here. */
  platformPrincipal?: string | undefined;
  /** The address of the peer: behind a proxy, the proxy's. What a header says of it is not believed. */
  sourceAddress?: string | undefined;
  /** Called at most once. The body of a request that is refused before is not read at all. */
  readBody(request: { maxBytes: number }): Promise<Uint8Array | "too_large">;
  /** Whether an answer may come piece by piece. */
  canStream: boolean;
  /** Aborts when the client goes away or the server closes. Made when it is asked for: most answers need none. */
  readonly signal: AbortSignal;
};

export type WholeResponse = { status: number; headers: Record<string, string>; body: string };

/** A body in pieces is read to its end or returned; only for those who `canStream`. */
export type ExchangeResponse = Omit<WholeResponse, "body"> & { body: string | AsyncIterable<string> };

/** `principal` is who was authenticated; `receivedAtMs` is when the request was, before its body was read. */
export type AuthenticatedCaller = { principal: string; trace: Trace | undefined; receivedAtMs: number };
export type MethodCall<M extends MethodName> = { params: ParamsOf<M>; id: RequestId; caller: AuthenticatedCaller };
export type MethodHandler<M extends MethodName> = (call: MethodCall<M>) => Promise<ResultOf<M>>;
export type MethodHandlers = { [M in MethodName]: MethodHandler<M> };

const headers = {
  "content-type": "application/json",
  "cache-control": "no-store",
  "x-content-type-options": "nosniff",
};

/** The host's answers in one piece: JSON, an error of a dialect, or nothing but a status. */
export function createJsonAnswer(body: unknown): WholeResponse {
  return { status: 200, headers, body: JSON.stringify(body) };
}

/** With the status that the dialect gives the error. RFC 9110, section 15.5.2: a 401 says how one would be let in. */
export function createErrorAnswer(request: {
  error: SekishoError;
  id: RequestId | null;
  dialect: Dialect;
}): WholeResponse {
  const { status, headers: added, body } = createErrorResponse(request);
  const challenge = status === 401 ? { "www-authenticate": "Bearer" } : {};
  return { status, headers: { ...headers, ...added, ...challenge }, body: JSON.stringify(body) };
}

export function createEmptyAnswer({ status, allow }: { status: number; allow?: string }): WholeResponse {
  return { status, headers: { "cache-control": "no-store", ...(allow && { allow }) }, body: "" };
}

const maxIssues = 20;

/** Where and what is wrong, in zod's fixed words, which repeat no value. */
export function createParamsError(issues: readonly { path: readonly PropertyKey[]; message: string }[]): SekishoError {
  const told = issues.slice(0, maxIssues).map(({ path, message }) => ({ path: path.join("."), message }));
  return new SekishoError("invalid_params", { details: { issues: told } });
}
