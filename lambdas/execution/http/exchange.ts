/**
 * One HTTP exchange in a shape that every server can provide: its request and response, the types of the methods that answer it, and the
 * constructors of common answers.
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
  /** The principal that the platform in front of the entry has authenticated; never taken from the request itself. */
  platformPrincipal?: string | undefined;
  /** The address of the peer: behind a proxy, the proxy's. Headers about it are not trusted. */
  sourceAddress?: string | undefined;
  /** Called at most once. The body of a request that is refused before is not read at all. */
  readBody(request: { maxBytes: number }): Promise<Uint8Array | "too_large">;
  /** Whether an answer may come piece by piece. */
  canStream: boolean;
  /** Aborts when the client goes away or the server closes. Created when it is read, since most answers need none. */
  readonly signal: AbortSignal;
};

export type WholeResponse = { status: number; headers: Record<string, string>; body: string };

/** A body in pieces is read to its end, or its iterator is returned. Only where the exchange `canStream`. */
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

/** An answer of JSON with status 200. */
export function createJsonAnswer(body: unknown): WholeResponse {
  return { status: 200, headers, body: JSON.stringify(body) };
}

/** An error answer with the status of its dialect. A 401 names the authentication scheme (RFC 9110, section 15.5.2). */
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

/** Lists where the params are wrong and why, in zod's fixed messages, which repeat no value. */
export function createParamsError(issues: readonly { path: readonly PropertyKey[]; message: string }[]): SekishoError {
  const listed = issues.slice(0, maxIssues).map(({ path, message }) => ({ path: path.join("."), message }));
  return new SekishoError("invalid_params", { details: { issues: listed } });
}
