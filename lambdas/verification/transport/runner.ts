/** The runner: makes a client out of a transport, with the wrappers of `wrappers.ts` and the deadline in a fixed order. */
import { setTimeout as wait } from "node:timers/promises";
import type { Dialect } from "../../../contracts/dialects.ts";
import type { MethodName, ParamsOf, ResultOf } from "../../../contracts/methods.ts";
import { createDeadline } from "../../shared/async/deadline.ts";
import type { Log } from "../../shared/log.ts";
import { noTelemetry, type Telemetry, type Trace } from "../../shared/telemetry/telemetry.ts";
import { parseUrl } from "../../shared/untrusted-input.ts";
import { readResponse } from "./read-response.ts";
import { type CallHandler, compose, type Transport, type Wrapper } from "./transport.ts";
import {
  callLog,
  circuitBreaker,
  measureCalls,
  measureRetries,
  type Peer,
  retry,
  type Sleep,
  span,
} from "./wrappers.ts";

/** `callTimeoutMs` is the longest that any call may take, whatever its own `timeoutMs` says. */
type ClientDestination = {
  name: string;
  dialect: Dialect;
  idempotent: boolean;
  callTimeoutMs: number;
  /** Its URL, where there is one. */
  url?: string | undefined;
};

const never = new AbortController().signal;

/** Creates the client of one destination. A process shares it, since it holds the circuit breaker. `close` closes the transport. */
export function createClient({
  transport,
  destination: { name, dialect, idempotent, callTimeoutMs, url },
  log: processLog,
  telemetry = noTelemetry,
  now = Date.now,
  sleep = ({ ms, signal }) => wait(ms, undefined, { signal }),
  random = Math.random,
}: {
  transport: Transport;
  destination: ClientDestination;
  log: Log;
  telemetry?: Telemetry;
  now?: () => number;
  sleep?: Sleep;
  random?: () => number;
}): ExecutionClient {
  const log = processLog.with({ destination: name });
  const { metrics, spans } = telemetry;
  const onState = ({ isOpen }: { isOpen: boolean }) =>
    metrics.set("sekisho_circuit_open", { destination: name }, isOpen ? 1 : 0);
  const run = compose({
    wrappers: [
      // Outermost, so that calls that an open circuit refuses are counted as failed.
      measureCalls({ metrics, destination: name, now }),
      // Around the retries, so that it counts calls and not attempts, and never interrupts the attempts of one call.
      circuitBreaker({ log, now, onState }),
      // Around the retries, which share the call's time.
      deadline({ now }),
      retry({ idempotent, now, sleep, random }),
      measureRetries({ metrics, destination: name }),
      // Within the retries: each attempt has its own span and log line.
      span({ spans, peer: { destination: name, ...readAddress(url) } }),
      callLog({ log, now }),
    ],
    innermost: exchange({ transport, dialect }),
  });
  return {
    async call<M extends MethodName>({ timeoutMs, signal = never, ...call }: ClientCall<M>) {
      const endsAtMs = now() + Math.min(timeoutMs, callTimeoutMs);
      const result = await run({ ...call, signal, endsAtMs, attempt: 1 });
      return result as ResultOf<M>;
    },
    ...(transport.stopSession === undefined ? {} : { stopSession: transport.stopSession }),
    async close() {
      await transport.close?.();
    },
  };
}

function readAddress(url: string | undefined): Pick<Peer, "address" | "port"> {
  const parsed = url === undefined ? null : parseUrl(url);
  if (parsed === null) return {};
  const { hostname: address, port, protocol } = parsed;
  return { address, port: port === "" ? (protocol === "http:" ? 80 : 443) : Number(port) };
}

/** The innermost step of a call: one JSON-RPC Request out, one Response in. */
function exchange({ transport, dialect }: { transport: Transport; dialect: Dialect }): CallHandler {
  return async ({ method, params, id, requestId, sessionId, signal, trace, span }) => {
    const body = Buffer.from(JSON.stringify({ jsonrpc: "2.0", id, method, params }));
    const response = await transport.send({ body, sessionId, signal, trace });
    span?.set({ "http.response.status_code": response.status });
    return readResponse({ response, method, params, id, requestId, dialect });
  };
}

/**
 * `timeoutMs` bounds the whole call, retries included; `id` is the JSON-RPC id and stays the same through them.
 * `requestId` is the task's, whatever the method: it is for the log, and the same as `id` where the method is `execute_task`.
 */
export type ClientCall<M extends MethodName> = {
  method: M;
  params: ParamsOf<M>;
  id: string;
  requestId: string;
  sessionId: string;
  timeoutMs: number;
  trace: Trace;
  signal?: AbortSignal | undefined;
};

/** Resolves to the validated result; rejects with a SekishoError, whose reason may be `ambiguous`. */
export type ExecutionClient = {
  call<M extends MethodName>(call: ClientCall<M>): Promise<ResultOf<M>>;
  /** Ends what the destination keeps warm for the session; does nothing where there is nothing to end. */
  stopSession?(request: { sessionId: string; signal: AbortSignal }): Promise<void>;
  close(): Promise<void>;
};

/**
 * Aborts the call's signal at its deadline. Every transport then rejects at once, and says whether anything was sent.
 */
function deadline({ now }: { now: () => number }): Wrapper {
  return (next) => async (call) => {
    const { signal, end } = createDeadline({ timeoutMs: call.endsAtMs - now(), signal: call.signal });
    try {
      return await next({ ...call, signal });
    } finally {
      end();
    }
  };
}
