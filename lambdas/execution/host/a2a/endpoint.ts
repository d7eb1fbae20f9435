/** A2A over JSON-RPC (A2A 1.0, section 9; 0.3, section 3.2.1): one request of a known caller goes in, its answer comes out. */
import type { A2aVersion, OperationName } from "../../../../contracts/a2a/operations.ts";
import type { StreamEvent } from "../../../../contracts/a2a/task.ts";
import type { V03OperationName } from "../../../../contracts/a2a/v03/params.ts";
import { resultToV03 } from "../../../../contracts/a2a/v03/results.ts";
import { encodeError } from "../../../../contracts/encode-error.ts";
import type { JsonRpcRequest } from "../../../../contracts/envelope.ts";
import { SekishoError } from "../../../../contracts/errors.ts";
import type { Log } from "../../../shared/log.ts";
import { type Metrics, noMetrics } from "../../../shared/telemetry/metrics.ts";
import type { Exchange, ExchangeResponse } from "../exchange.ts";
import { errorAnswer, json } from "../json-response.ts";
import type { Caller } from "../method.ts";
import { extensionHeaders } from "./extensions.ts";
import { logRefusal } from "./log-refusal.ts";
import type { Operation, OperationCall, Operations } from "./operation.ts";
import { readParams } from "./read-params.ts";
import { serverSentEvents } from "./sse.ts";
import { askedVersion, dialectAsked, dialects, operationNamed, versionInForce } from "./version.ts";

type Call = { request: JsonRpcRequest; caller: Caller; exchange: Exchange };
export type A2aEndpoint = (call: Call) => Promise<ExchangeResponse>;

const streaming: readonly OperationName[] = ["SendStreamingMessage", "SubscribeToTask"];

const streamHeaders = {
  "content-type": "text/event-stream",
  "cache-control": "no-store",
  "x-accel-buffering": "no",
  "x-content-type-options": "nosniff",
};

/** Never rejects. What goes wrong before a stream's first event is an answer in one piece, later the stream's last event. */
export function createA2aEndpoint({
  operations,
  tenant,
  keepAliveMs,
  metrics = noMetrics,
  log,
}: {
  operations: Operations;
  tenant: string | undefined;
  keepAliveMs: number;
  metrics?: Metrics;
  log: Log;
}): A2aEndpoint {
  return async (call) => {
    const { request, caller, exchange } = call;
    const { id, method, params } = request;
    const asked = askedVersion(exchange);
    let version: A2aVersion | undefined;
    const dialect = () => (version === undefined ? dialectAsked(asked) : dialects[version]);
    const refuse = (thrown: unknown) => {
      const error = SekishoError.from(thrown);
      metrics.add("sekisho_requests_refused_total", { zone: "execution", reason: error.reason });
      logRefusal({ log, error, request, caller, version });
      return error;
    };
    try {
      version = versionInForce({ asked, method });
      const operation = operationNamed({ method, version });
      if (streaming.includes(operation) && !exchange.canStream) throw new SekishoError("unsupported_operation");
      const read = readParams({ operation, version, params, tenant });
      // Params and operation are of the same name; TypeScript cannot follow it through both tables.
      const run = operations[operation] as Operation<OperationName>;
      const result = await run({ params: read, version, caller, client: exchange } as OperationCall<OperationName>);
      const write = writer({ operation, version });
      const answer = (value: unknown) => ({ jsonrpc: "2.0", id, result: write(value) });
      const added = extensionHeaders(exchange);
      if (!streaming.includes(operation)) return withHeaders(json(answer(result)), added);
      const events = result as AsyncIterable<StreamEvent>;
      const last = (thrown: unknown) => ({
        jsonrpc: "2.0",
        id,
        error: encodeError({ error: refuse(thrown), dialect: dialect() }),
      });
      const messages = responses({ events, answer, last });
      return {
        status: 200,
        headers: { ...streamHeaders, ...added },
        body: serverSentEvents({ messages, keepAliveMs }),
      };
    } catch (thrown) {
      return errorAnswer({ error: refuse(thrown), id, dialect: dialect() });
    }
  };
}

function withHeaders(response: ExchangeResponse, added: Record<string, string>): ExchangeResponse {
  return { ...response, headers: { ...response.headers, ...added } };
}

function writer({
  operation,
  version,
}: {
  operation: OperationName;
  version: A2aVersion;
}): (result: unknown) => unknown {
  if (version === "1.0") return (result) => result;
  return (result) => resultToV03({ operation: operation as V03OperationName, result: result as never });
}

async function* responses({
  events,
  answer,
  last,
}: {
  events: AsyncIterable<StreamEvent>;
  answer: (event: StreamEvent) => unknown;
  last: (thrown: unknown) => unknown;
}): AsyncGenerator<string> {
  try {
    for await (const event of events) yield JSON.stringify(answer(event));
  } catch (thrown) {
    yield JSON.stringify(last(thrown));
  }
}
