/** The one runner: makes a client out of a transport, and says in which order the wrappers lie around it. */
import { setTimeout } from "node:timers/promises";
import type { Dialect } from "../../../contracts/dialects.ts";
import type { MethodName, ResultOf } from "../../../contracts/methods.ts";
import type { Log } from "../../shared/log.ts";
import { noTelemetry, type Telemetry } from "../../shared/telemetry/telemetry.ts";
import type { Call, ExecutionClient } from "./client.ts";
import { exchange } from "./exchange.ts";
import type { Transport } from "./transport.ts";
import { callLog } from "./wrappers/call-log.ts";
import { circuitBreaker } from "./wrappers/circuit-breaker.ts";
import { deadline } from "./wrappers/deadline.ts";
import { measureCalls, measureRetries } from "./wrappers/measure.ts";
import { retry, type Sleep } from "./wrappers/retry.ts";
import { type Peer, span } from "./wrappers/span.ts";
import { compose } from "./wrappers/wrapper.ts";

/** `callTimeoutMs` is the longest that any call may take, whatever its own `timeoutMs` says. */
export type ClientDestination = {
  name: string;
  dialect: Dialect;
  idempotent: boolean;
  callTimeoutMs: number;
  /** Its URL, where there is one. */
  url?: string | undefined;
};

const never = new AbortController().signal;

/** One client a destination and process: the circuit breaker's memory is in it. `close` closes the transport too. */
export function createClient({
  transport,
  destination: { name, dialect, idempotent, callTimeoutMs, url },
  log: processLog,
  telemetry = noTelemetry,
  now = Date.now,
  sleep = ({ ms, signal }) => setTimeout(ms, undefined, { signal }),
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
      // Outside of everything: what an open circuit refuses is a call that failed too.
      measureCalls({ metrics, destination: name, now }),
      // Around the repetitions, so that it counts calls and not attempts, and never comes between the attempts of one call.
      circuitBreaker({ log, now, onState }),
      // Around the repetitions: they share the call's time.
      deadline({ now }),
      retry({ idempotent, now, sleep, random }),
      measureRetries({ metrics, destination: name }),
      // Within the repetitions: each attempt has a span and a log line of its own.
      span({ spans, peer: { destination: name, ...addressOf(url) } }),
      callLog({ log, now }),
    ],
    innermost: exchange({ transport, dialect }),
  });
  return {
    async call<M extends MethodName>({ timeoutMs, signal = never, ...call }: Call<M>) {
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

function addressOf(url: string | undefined): Pick<Peer, "address" | "port"> {
  const parsed = url === undefined ? null : URL.parse(url);
  if (parsed === null) return {};
  const { hostname: address, port, protocol } = parsed;
  return { address, port: port === "" ? (protocol === "http:" ? 80 : 443) : Number(port) };
}
