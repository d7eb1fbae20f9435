/** Authenticates callers, and logs who was refused: one line per address, cause and minute. */

import { SekishoError } from "../../../contracts/errors.ts";
import type { Log } from "../../shared/log.ts";
import { createOnceAMinute } from "../../shared/once-a-minute.ts";
import { errorKind } from "../../shared/telemetry/error-kind.ts";
import type { Authenticator } from "../authenticator/authenticator.ts";
import type { Exchange } from "./exchange.ts";

/** Resolves to the principal. Rejects with `unauthenticated`, `permission_denied` or `unavailable`. */
export type Admit = (exchange: Pick<Exchange, "header" | "platformPrincipal" | "sourceAddress">) => Promise<string>;

/**
 * A right token is let in however many wrong ones came from the same address. A wrong token always gets the same final answer:
 * `rate_limited` would invite the caller to try it again. Where nobody can tell who calls (the tokens or the keys cannot be
 * read), the answer is `unavailable`, and the caller may try again.
 */
export function createAdmit({
  authenticator,
  now,
  log,
}: {
  authenticator: Authenticator;
  now: () => number;
  log: Log;
}): Admit {
  const isDue = createOnceAMinute({ now });

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

/** The admission has logged such a refusal, or has left it out on purpose. */
export function isRefusedCaller({ reason }: SekishoError): boolean {
  return reason === "unauthenticated" || reason === "permission_denied";
}
