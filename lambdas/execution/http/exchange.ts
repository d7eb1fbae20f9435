/**
 * One HTTP exchange in a shape that every server can provide, the constructors of common answers, and the admission of callers before
 * their request's body is read.
 */

import type { Dialect } from "../../../contracts/dialects.ts";
import type { RequestId } from "../../../contracts/envelope.ts";
import { createErrorResponse } from "../../../contracts/error-data.ts";
import { SekishoError } from "../../../contracts/errors.ts";
import { isLoopbackHost } from "../../../contracts/loopback.ts";
import type { MethodName, ParamsOf, ResultOf } from "../../../contracts/methods.ts";
import type { AuthenticatorConfig } from "../../shared/config/authenticator-schema.ts";
import type { BodyRefusal } from "../../shared/http/read-body.ts";
import type { OpenBodyShare } from "../../shared/http/server-limits.ts";
import type { Log } from "../../shared/log.ts";
import { createMinuteLimiter } from "../../shared/minute-limiter.ts";
import { errorKind } from "../../shared/telemetry/error-kind.ts";
import type { Trace } from "../../shared/telemetry/telemetry.ts";
import { toWellFormedJson } from "../../shared/untrusted-input.ts";

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

/** `principal` is the authenticated caller. `receivedAtMs` is the time before the body was read. */
export type AuthenticatedCaller = {
  principal: string;
  trace: Trace | undefined;
  receivedAtMs: number;
};
export type MethodCall<M extends MethodName> = {
  params: ParamsOf<M>;
  id: RequestId;
  caller: AuthenticatedCaller;
};
export type MethodHandler<M extends MethodName> = (call: MethodCall<M>) => Promise<ResultOf<M>>;
export type MethodHandlers = { [M in MethodName]: MethodHandler<M> };

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
  const { status, headers: added, body } = createErrorResponse(request);
  const challenge = status === 401 ? { "www-authenticate": "Bearer" } : {};
  return { status, headers: { ...headers, ...added, ...challenge }, body: JSON.stringify(body) };
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

const maxIssues = 20;

/** Lists where the params are wrong and why. zod's messages never repeat a value, so they are safe to send. */
export function createParamsError(
  issues: readonly { path: readonly PropertyKey[]; message: string }[],
): SekishoError {
  const listed = issues
    .slice(0, maxIssues)
    .map(({ path, message }) => ({ path: path.join("."), message }));
  return new SekishoError("invalid_params", { details: { issues: listed } });
}

/** Resolves to the principal. Rejects with `unauthenticated`, `permission_denied` or `unavailable`. */
export type AdmitCaller = (
  exchange: Pick<Exchange, "header" | "platformPrincipal" | "sourceAddress">,
) => Promise<string>;

/**
 * Wrong tokens from an address do not affect valid ones. A wrong token always gets the same final answer, because `rate_limited` would
 * invite the caller to try it again. If the tokens or keys cannot be read, the answer is `unavailable`, which may be retried.
 */
export function createAdmitCaller(options: {
  authenticator: Authenticator;
  now: () => number;
  log: Log;
}): AdmitCaller {
  const { authenticator, now, log } = options;
  const isDue = createMinuteLimiter({ now });

  function logRefusal({ reason, cause }: SekishoError, source_address: string | undefined): void {
    const fields = {
      reason,
      source_address,
      ...(cause !== undefined && { cause_kind: errorKind(cause) }),
    };
    if (isDue(JSON.stringify(fields))) log.warn("request_refused", fields);
  }

  function toRefusal(thrown: unknown): SekishoError {
    if (thrown instanceof SekishoError) return thrown;
    if (isDue("authenticator_failed"))
      log.error("authenticator_failed", { cause_kind: errorKind(thrown) });
    return new SekishoError("unavailable", { cause: thrown });
  }

  return async (exchange) => {
    const principal = await authenticator.authenticate(exchange).catch(toRefusal);
    if (typeof principal === "string") return principal;
    const refusal = principal ?? new SekishoError("unauthenticated");
    if (isRefusedCaller(refusal)) logRefusal(refusal, exchange.sourceAddress);
    throw refusal;
  };
}

/** True if the caller was refused. Its refusal is logged at most once a minute, by `createAdmitCaller`. */
export function isRefusedCaller({ reason }: SekishoError): boolean {
  return reason === "unauthenticated" || reason === "permission_denied";
}

export type CallerLimits = {
  /** Runs of agents. */
  runs: RunSlots;
  /** Streams, and calls that wait for a change. */
  calls: RunSlots;
};

/**
 * Counts the slots that each caller holds. A slot belongs to an id and can be shared: it is free once all its holders have released it.
 */
export type RunSlots = {
  /** Returns undefined if the caller has reached its limit and holds no slot for this id. */
  take(slot: CallerSlot): Release | undefined;
  /** Takes a slot even if the caller has reached its limit. */
  occupy(slot: CallerSlot): Release;
};

type CallerSlot = { principal: string; id: string };
/** Releases a slot; further calls do nothing. */
type Release = () => void;

/** The counts are in memory, because the counted work ends with the process. */
export function createRunSlots({ max }: { max: number }): RunSlots {
  /** The number of holders for each principal and id. */
  const held = new Map<string, Map<string, number>>();

  function add({ principal, id }: CallerSlot, holders: 1 | -1): void {
    const slots = held.get(principal) ?? new Map<string, number>();
    const left = (slots.get(id) ?? 0) + holders;
    if (left > 0) slots.set(id, left);
    else slots.delete(id);
    if (slots.size > 0) held.set(principal, slots);
    else held.delete(principal);
  }

  function occupy(slot: CallerSlot): Release {
    let isHeld = true;
    add(slot, 1);
    return () => {
      if (isHeld) add(slot, -1);
      isHeld = false;
    };
  }

  return {
    occupy,
    take(slot) {
      const slots = held.get(slot.principal);
      const isFull = slots !== undefined && !slots.has(slot.id) && slots.size >= max;
      return isFull ? undefined : occupy(slot);
    },
  };
}

const nothing: Release = () => {};
export const unlimitedSlots: RunSlots = { take: () => nothing, occupy: () => nothing };

/** The shortest delay before a retry. It is so long that a few retries take minutes. */
const leastRetryMs = 15_000;

/** Nothing was started or stored, so the request may be repeated. The delay is random, so that callers do not all return at once. */
export function createTooManyCallsError({ random }: { random: () => number }): SekishoError {
  const retry_after_ms = Math.floor(leastRetryMs * (1 + random()));
  return new SekishoError("rate_limited", { details: { retry_after_ms } });
}

/** Tasks are scoped to one principal: it never sees those of another. */
type Principal = string;

type Credentials = Pick<Exchange, "header" | "platformPrincipal">;

export type Authenticator = {
  kind: AuthenticatorConfig["type"];
  /**
   * Resolves to undefined for an unknown caller. Rejects with `permission_denied` for a known caller that may not call, with
   * `unauthenticated` if the log should have the cause, and with any other error if the caller cannot be checked now.
   */
  authenticate(request: Credentials): Promise<Principal | undefined>;
};

/** Header values are Latin-1, so that each character is one byte. */
const maxTokenBytes = 8 * 1024;
const scheme = "Bearer ";

/** Reads the token of a request (RFC 6750, section 2.1). Returns undefined if there is none or it is too long. */
export function readBearerToken({ header }: Credentials): string | undefined {
  const value = header("authorization");
  if (value === undefined || value.length > maxTokenBytes + scheme.length) return undefined;
  return /^Bearer +([^\s]+)$/i.exec(value)?.[1];
}

/**
 * Admits everyone who can connect, so a server may use it on loopback only. Refuses requests of web pages, which send an `Origin` or, after
 * DNS rebinding, a `Host` that is not local.
 */
export function createNoneAuthenticator(): Authenticator {
  return {
    kind: "none",
    async authenticate({ header }) {
      const hostname = header("host")
        ?.toLowerCase()
        .replace(/:\d{1,5}$/, "");
      const isLocal = hostname === undefined || isLoopbackHost(hostname);
      return isLocal && header("origin") === undefined ? "anyone" : undefined;
    },
  };
}

/** Admits the principal that the platform in front of the host has authenticated. */
export function createPlatformAuthenticator(): Authenticator {
  return {
    kind: "platform",
    async authenticate({ platformPrincipal }) {
      if (platformPrincipal !== undefined) return platformPrincipal;
      // Final, because no other token would help.
      throw new SekishoError("permission_denied");
    },
  };
}
