/**
 * Admits callers before a byte of the body is read, and fails closed: the authenticator type, the two authenticators without a token, a
 * log line for refused callers, and each caller's limits on runs and open calls in this process.
 */
import { SekishoError } from "../../../contracts/errors.ts";
import { isLoopbackHost } from "../../../contracts/loopback.ts";
import type { AuthenticatorConfig } from "../../shared/config/authenticator-schema.ts";
import type { Log } from "../../shared/log.ts";
import { createMinuteLimiter } from "../../shared/minute-limiter.ts";
import { errorKind } from "../../shared/telemetry/error-kind.ts";
import type { Exchange } from "./exchange.ts";

/** Resolves to the principal. Rejects with `unauthenticated`, `permission_denied` or `unavailable`. */
export type AdmitCaller = (
  exchange: Pick<Exchange, "header" | "platformPrincipal" | "sourceAddress">,
) => Promise<string>;

/**
 * Admits a valid token however many wrong ones came from the same address. A wrong token always gets the same final answer, because
 * `rate_limited` would invite the caller to try it again. Where the caller cannot be identified (the tokens or the keys cannot be read),
 * the answer is `unavailable`, and the caller may try again.
 */
export function createAdmitCaller({
  authenticator,
  now,
  log,
}: {
  authenticator: Authenticator;
  now: () => number;
  log: Log;
}): AdmitCaller {
  const isDue = createMinuteLimiter({ now });

  function logRefusal({ reason, cause }: SekishoError, source_address: string | undefined): void {
    const fields = { reason, source_address, ...(cause !== undefined && { cause_kind: errorKind(cause) }) };
    if (isDue(JSON.stringify(fields))) log.warn("request_refused", fields);
  }

  function toRefusal(thrown: unknown): SekishoError {
    if (thrown instanceof SekishoError) return thrown;
    if (isDue("authenticator_failed")) log.error("authenticator_failed", { cause_kind: errorKind(thrown) });
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

/** Whether the admission has logged the refusal already, or left it out on purpose. */
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
 * Counts the places that each caller holds. A place belongs to an id. A place that is taken again is shared, and is free once all
 * holders have released it.
 */
export type RunSlots = {
  /** Undefined where the caller has reached its limit and holds no place for this id. */
  take(slot: CallerSlot): Release | undefined;
  /** Takes a place even where none is left. */
  occupy(slot: CallerSlot): Release;
};

type CallerSlot = { principal: string; id: string };
/** Gives back what was taken, once. */
type Release = () => void;

/** Counts in memory alone, since the counted work ends with the process. */
export function createRunSlots({ max }: { max: number }): RunSlots {
  /** For each principal and id: how many hold the place. */
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

/** Long enough that a caller that tries a few times waits some minutes in all. */
const leastRetryMs = 15_000;

/** Nothing was begun or stored, so the same request may be repeated. The delay is random, so that callers do not come back together. */
export function createTooManyCallsError({ random }: { random: () => number }): SekishoError {
  const retry_after_ms = Math.floor(leastRetryMs * (1 + random()));
  return new SekishoError("rate_limited", { details: { retry_after_ms } });
}

/** The scope of tasks: one principal never sees another's. */
type Principal = string;

type Asked = Pick<Exchange, "header" | "platformPrincipal">;

export type Authenticator = {
  kind: AuthenticatorConfig["type"];
  /**
   * Resolves to undefined for a caller that is not admitted. Rejects with `permission_denied` for a known caller that may not call, with
   * `unauthenticated` where the log may say more than the answer, and with any other error where the caller cannot be checked now.
   */
  authenticate(request: Asked): Promise<Principal | undefined>;
};

/** Header values are Latin-1: a character is a byte. */
const maxTokenBytes = 8 * 1024;
const scheme = "Bearer ";

/**
 * Reads the token of a request (RFC 6750, section 2.1). Undefined where there is none, or where it is too long to be one.
 */
export function readBearerToken({ header }: Asked): string | undefined {
  const value = header("authorization");
  if (value === undefined || value.length > maxTokenBytes + scheme.length) return undefined;
  return /^Bearer +([^\s]+)$/i.exec(value)?.[1];
}

/**
 * Admits anyone who can connect, so a server refuses it beyond loopback. It refuses pages in a browser: those send an `Origin`, or a
 * `Host` whose DNS name points here.
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

/** Admits the principal that the platform in front of the host has authenticated, as the entry passes it on. */
export function createPlatformAuthenticator(): Authenticator {
  return {
    kind: "platform",
    async authenticate({ platformPrincipal }) {
      if (platformPrincipal !== undefined) return platformPrincipal;
      // Final: no other token can change what the platform says.
      throw new SekishoError("permission_denied");
    },
  };
}
