/** An authenticator says who a caller is. Callers are admitted before the body of their request is read. */

import type { AuthenticatorConfig } from "@sekisho/config/authenticator-schema.ts";
import { SekishoError } from "@sekisho/contracts/errors.ts";
import { isLoopbackHost } from "@sekisho/contracts/loopback.ts";
import { errorKind } from "@sekisho/runtime/error-kind.ts";
import type { Log } from "@sekisho/runtime/log.ts";
import { createMinuteLimiter } from "@sekisho/runtime/minute-limiter.ts";
import type { Exchange } from "../exchange.ts";

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

  function toRefusal(error: unknown): SekishoError {
    if (error instanceof SekishoError) return error;
    if (isDue("authenticator_failed"))
      log.error("authenticator_failed", { cause_kind: errorKind(error) });
    return new SekishoError("unavailable", { cause: error });
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
