/** `GET /metrics`: what the process counts, to whoever may call the host. */
import { SekishoError } from "../../../contracts/errors.ts";
import type { Log } from "../../shared/log.ts";
import type { ProcessTelemetry } from "../../shared/telemetry/telemetry.ts";
import type { Authenticator } from "./authenticator/authenticator.ts";
import { causeKind } from "./cause-kind.ts";
import type { Exchange, ExchangeResponse } from "./exchange.ts";
import { empty } from "./json-response.ts";

/** Absent where the process is not one that goes on running. */
export type Exposition = ProcessTelemetry["exposition"] | undefined;

const statuses: { readonly [reason: string]: number | undefined } = { unauthenticated: 401, permission_denied: 403 };

/**
 * The same authenticator as for a request: on loopback without one anybody on this machine, elsewhere whoever may run tasks. 404
 * where metrics are switched off, 503 where nobody can tell for now who asks. Never rejects.
 */
export function createMetricsPage({
  exposition = async () => undefined,
  authenticator,
  log,
}: {
  exposition: Exposition;
  authenticator: Authenticator;
  log: Log;
}): (exchange: Exchange) => Promise<ExchangeResponse> {
  return async (exchange) => {
    try {
      if ((await authenticator.authenticate(exchange)) === undefined) throw new SekishoError("unauthenticated");
      const shown = await exposition();
      if (shown === undefined) return empty({ status: 404 });
      const headers = { "cache-control": "no-store", "x-content-type-options": "nosniff" };
      return { status: 200, headers: { ...headers, "content-type": shown.contentType }, body: shown.body };
    } catch (thrown) {
      const status = thrown instanceof SekishoError ? statuses[thrown.reason] : undefined;
      if (status === undefined) log.error("metrics_failed", { cause_kind: causeKind(thrown) });
      else log.warn("request_refused", { reason: SekishoError.from(thrown).reason, operation: "metrics" });
      const refused = empty({ status: status ?? 503 });
      return status === 401 ? { ...refused, headers: { ...refused.headers, "www-authenticate": "Bearer" } } : refused;
    }
  };
}
