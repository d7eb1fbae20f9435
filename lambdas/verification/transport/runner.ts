/** Creates a client from a transport. It adds the deadline and the wrappers of `wrappers.ts` in a fixed order. */
import { setTimeout as wait } from "node:timers/promises";
import type { Dialect } from "@sekisho/contracts/dialects.ts";
import type { MethodName, OmittableField, ParamsOf, ResultOf } from "@sekisho/contracts/methods.ts";
import type { CallAsker } from "@sekisho/runtime/asker/asker.ts";
import { createDeadline } from "@sekisho/runtime/async/deadline.ts";
import type { Log } from "@sekisho/runtime/log.ts";
import { noTelemetry, type Telemetry, type Trace } from "@sekisho/runtime/telemetry/telemetry.ts";
import { parseUrl } from "@sekisho/runtime/untrusted-input.ts";
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

/** `callTimeoutMs` is the upper limit for every call, whatever its own `timeoutMs`. */
type ClientDestination = {
  name: string;
  dialect: Dialect;
  idempotent: boolean;
  /** Fields of `execute_task` that are not sent. */
  omitFields?: readonly OmittableField[];
  /** The agent of the host that runs the tasks. Default: its main agent. */
  agent?: string | undefined;
  callTimeoutMs: number;
  url?: string | undefined;
};

const never = new AbortController().signal;

/** Creates the client of one destination. A process must create only one per destination, because it holds the circuit breaker's state. */
export function createClient(options: {
  transport: Transport;
  destination: ClientDestination;
  log: Log;
  telemetry?: Telemetry;
  now?: () => number;
  sleep?: Sleep;
  random?: () => number;
}): ExecutionClient {
  const { transport, log: processLog, telemetry = noTelemetry, now = Date.now } = options;
  const { sleep = ({ ms, signal }) => wait(ms, undefined, { signal }), random = Math.random } =
    options;
  const {
    name,
    dialect,
    idempotent,
    omitFields = [],
    agent,
    callTimeoutMs,
    url,
  } = options.destination;
  const log = processLog.with({ destination: name });
  const { metrics, spans } = telemetry;
  const onState = ({ isOpen }: { isOpen: boolean }) =>
    metrics.set("sekisho_circuit_open", { destination: name }, isOpen ? 1 : 0);
  const run = compose({
    wrappers: [
      // Outermost, so that a call that an open circuit refuses counts as failed.
      measureCalls({ metrics, destination: name, now }),
      // Outside the retries, so that it counts calls and never interrupts the attempts of one call.
      circuitBreaker({ log, now, onState }),
      // Outside the retries, because they share the call's time.
      deadline({ now }),
      retry({ idempotent, now, sleep, random }),
      measureRetries({ metrics, destination: name }),
      // Inside the retries, so that each attempt has its own span and log line.
      span({ spans, peer: { destination: name, ...readAddress(url) } }),
      callLog({ log, now }),
    ],
    innermost: exchange({ transport, dialect, omitFields, agent }),
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
  const parsedUrl = url === undefined ? null : parseUrl(url);
  if (parsedUrl === null) return {};
  const { hostname: address, port, protocol } = parsedUrl;
  return { address, port: port === "" ? (protocol === "http:" ? 80 : 443) : Number(port) };
}

/** The innermost step of a call: sends one JSON-RPC request and reads its response. */
function exchange(options: {
  transport: Transport;
  dialect: Dialect;
  omitFields: readonly OmittableField[];
  agent: string | undefined;
}): CallHandler {
  const { transport, dialect, omitFields, agent } = options;
  const ownFields = { ...Object.fromEntries(omitFields.map((field) => [field, undefined])), agent };
  return async ({ method, params, id, requestId, sessionId, asker, signal, trace, span }) => {
    const sentParams = method === "execute_task" ? { ...params, ...ownFields } : params;
    const body = Buffer.from(JSON.stringify({ jsonrpc: "2.0", id, method, params: sentParams }));
    const response = await transport.send({ body, sessionId, asker, signal, trace });
    span?.set({ "http.response.status_code": response.status });
    return readResponse({ response, method, params, id, requestId, dialect });
  };
}

/**
 * `timeoutMs` bounds the whole call including retries. `id` is the JSON-RPC id, which retries keep. `requestId` identifies the task in the
 * log, and equals `id` for `execute_task`.
 */
export type ClientCall<M extends MethodName> = {
  method: M;
  params: ParamsOf<M>;
  id: string;
  requestId: string;
  sessionId: string;
  /** The person whose word it brings, or whose task it is about. Absent for calls of the zone itself. */
  asker?: CallAsker | undefined;
  timeoutMs: number;
  trace: Trace;
  signal?: AbortSignal | undefined;
};

/** `call` resolves to the validated result, or rejects with a SekishoError, whose reason may be `ambiguous`. */
export type ExecutionClient = {
  call<M extends MethodName>(call: ClientCall<M>): Promise<ResultOf<M>>;
  /** Stops the destination's warm session, if there is one. */
  stopSession?(request: { sessionId: string; signal: AbortSignal }): Promise<void>;
  close(): Promise<void>;
};

/** Aborts the call's signal at its deadline. The transport then rejects at once, and its error says if anything was sent. */
function deadline({ now }: { now: () => number }): Wrapper {
  return (next) => async (call) => {
    const { signal, end } = createDeadline({
      timeoutMs: call.endsAtMs - now(),
      signal: call.signal,
    });
    try {
      return await next({ ...call, signal });
    } finally {
      end();
    }
  };
}
