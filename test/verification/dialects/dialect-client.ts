/** A client that calls a server on loopback over the https transport, in the dialect that the server is configured to speak. */
import { randomUUID } from "node:crypto";
import type { Dialect } from "../../../contracts/dialects.ts";
import { SekishoError } from "../../../contracts/errors.ts";
import type { MethodName, ParamsOf } from "../../../contracts/methods.ts";
import { silentLog } from "../../../lambdas/shared/log.ts";
import { createTrace } from "../../../lambdas/shared/telemetry/telemetry.ts";
import { noAuthorizer } from "../../../lambdas/verification/transport/authorizer/authorizer.ts";
import { createHttpsTransport } from "../../../lambdas/verification/transport/http/transport.ts";
import { createClient } from "../../../lambdas/verification/transport/runner.ts";

export type DialectClient = {
  /** The result, or what the call was refused with. `method` may be one that no peer has. */
  call<M extends MethodName>(request: {
    method: M | "nonexistent/method";
    params: ParamsOf<M>;
    id?: string;
  }): Promise<unknown>;
  close(): Promise<void>;
};

/** Pauses between attempts take no time. */
export function createDialectClient({
  url,
  dialect,
  idempotent = false,
}: {
  url: string;
  dialect: Dialect;
  idempotent?: boolean;
}): DialectClient {
  const client = createClient({
    transport: createHttpsTransport({ url, authorizer: noAuthorizer }),
    destination: { name: "peer", dialect, idempotent, callTimeoutMs: 20_000 },
    log: silentLog,
    sleep: async () => {},
  });
  return {
    async call({ method, params, id = randomUUID() }) {
      const common = { id, requestId: id, sessionId: "s".repeat(33), timeoutMs: 20_000, trace: createTrace() };
      try {
        return await client.call({ method: method as MethodName, params, ...common });
      } catch (thrown) {
        if (thrown instanceof SekishoError) return thrown;
        throw thrown;
      }
    },
    close: () => client.close(),
  };
}

/** What a test asks of an error. */
export function toldBy(outcome: unknown) {
  if (!(outcome instanceof SekishoError)) return { result: outcome };
  const { reason, exact, details, message } = outcome;
  return { reason, exact, details, message };
}
