/** A2A over JSON-RPC (A2A 1.0, section 9; 0.3, section 3.2.1): one request of a known caller goes in, its answer comes out. */

import { questionKey, slackMessageKey, taskKey } from "../../../contracts/a2a/extension.ts";
import { type A2aVersion, type OperationName, toA2aOperation } from "../../../contracts/a2a/operations.ts";
import type { StreamEvent } from "../../../contracts/a2a/task.ts";
import type { V03OperationName } from "../../../contracts/a2a/v03/params.ts";
import { resultToV03 } from "../../../contracts/a2a/v03/results.ts";
import type { JsonRpcRequest } from "../../../contracts/envelope.ts";
import { encodeError } from "../../../contracts/error-data.ts";
import { SekishoError } from "../../../contracts/errors.ts";
import { waitAtMost } from "../../shared/async/deadline.ts";
import type { Log } from "../../shared/log.ts";
import { errorKind } from "../../shared/telemetry/error-kind.ts";
import { type Metrics, noMetrics, readTraceId } from "../../shared/telemetry/telemetry.ts";
import {
  type AuthenticatedCaller,
  createErrorAnswer,
  createJsonAnswer,
  createTooManyCallsError,
  type Exchange,
  type ExchangeResponse,
  type RunSlots,
} from "../http/exchange.ts";
import { toLoggableId } from "../tasks/execution-task.ts";
import type { OperationCall, OperationHandler, OperationHandlers } from "./operation.ts";
import { dialects, findOperation, readParams, readRequestedVersion, resolveVersion, toDialect } from "./version.ts";

type Call = { request: JsonRpcRequest; caller: AuthenticatedCaller; exchange: Exchange };
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
  calls,
  newId,
  random,
  metrics = noMetrics,
  log,
}: {
  operations: OperationHandlers;
  tenant: string | undefined;
  keepAliveMs: number;
  /** Counts the streams of each caller. */
  calls: RunSlots;
  newId: () => string;
  random: () => number;
  metrics?: Metrics;
  log: Log;
}): A2aEndpoint {
  return async (call) => {
    const { request, caller, exchange } = call;
    const { id, method, params } = request;
    const asked = readRequestedVersion(exchange);
    let version: A2aVersion | undefined;
    let release: (() => void) | undefined;
    const dialect = () => (version === undefined ? toDialect(asked) : dialects[version]);
    const refuse = (thrown: unknown) => {
      const error = SekishoError.from(thrown);
      metrics.add("sekisho_requests_refused_total", { zone: "execution", reason: error.reason });
      logRefusal({ log, error, request, caller, version });
      return error;
    };
    try {
      version = resolveVersion({ asked, method });
      const operation = findOperation({ method, version });
      const isStream = streaming.includes(operation);
      if (isStream && !exchange.canStream) throw new SekishoError("unsupported_operation");
      const read = readParams({ operation, version, params, tenant });
      // Before anything is begun: a task that was taken is never refused.
      if (isStream) release = calls.take({ principal: caller.principal, id: newId() });
      if (isStream && release === undefined) throw createTooManyCallsError({ random });
      // Params and operation are of the same name; TypeScript cannot follow it through both tables.
      const run = operations[operation] as OperationHandler<OperationName>;
      const result = await run({ params: read, version, caller, client: exchange } as OperationCall<OperationName>);
      const write = writer({ operation, version });
      const answer = (value: unknown) => ({ jsonrpc: "2.0", id, result: write(value) });
      const added = extensionHeaders(exchange);
      if (!isStream) return withHeaders(createJsonAnswer(answer(result)), added);
      const events = result as AsyncIterable<StreamEvent>;
      const last = (thrown: unknown) => ({
        jsonrpc: "2.0",
        id,
        error: encodeError({ error: refuse(thrown), dialect: dialect() }),
      });
      const over = () => release?.();
      exchange.signal.addEventListener("abort", over, { once: true });
      const messages = releasing({ messages: responses({ events, answer, last }), over });
      return {
        status: 200,
        headers: { ...streamHeaders, ...added },
        body: serverSentEvents({ messages, keepAliveMs }),
      };
    } catch (thrown) {
      release?.();
      return createErrorAnswer({ error: refuse(thrown), id, dialect: dialect() });
    }
  };
}

/** Calls `over` at the end of the messages, or when they are returned, also where nobody has read any. */
function releasing({ messages, over }: { messages: AsyncGenerator<string>; over: () => void }): AsyncIterable<string> {
  return {
    [Symbol.asyncIterator]: () => ({
      async next() {
        const turn = await messages.next();
        if (turn.done) over();
        return turn;
      },
      async return() {
        over();
        return messages.return(undefined);
      },
    }),
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

const known: readonly string[] = [slackMessageKey, questionKey, taskKey];
const headerNames = ["a2a-extensions", "x-a2a-extensions"] as const;

/**
 * The extensions that a request asks for and this host knows (A2A 1.0, section 3.2.6; 0.3 calls the header X-A2A-Extensions). The header
 * of the response that names those which are in force; under the name that the request used.
 */
function extensionHeaders({ header }: Pick<Exchange, "header">): Record<string, string> {
  const name = headerNames.find((each) => header(each) !== undefined);
  if (name === undefined) return {};
  const asked = (header(name) ?? "").split(",").map((uri) => uri.trim());
  const inForce = known.filter((uri) => asked.includes(uri));
  return inForce.length === 0 ? {} : { [name]: inForce.join(", ") };
}

/** A caller's mistakes alarm nobody. */
function logRefusal({
  log,
  error,
  request: { method, params },
  caller,
  version,
}: {
  log: Log;
  error: SekishoError;
  request: JsonRpcRequest;
  caller: AuthenticatedCaller;
  version: A2aVersion | undefined;
}): void {
  const { id, taskId, message } = Object(params) as { id?: unknown; taskId?: unknown; message?: unknown };
  const sent = Object(message) as { messageId?: unknown; taskId?: unknown };
  const fields = {
    operation: toA2aOperation(method)?.operation,
    version,
    task_id: error.details.task_id ?? [taskId, sent.taskId, id].map(toLoggableId).find((known) => known !== undefined),
    request_id: toLoggableId(error.details.correlation_id) ?? toLoggableId(sent.messageId),
    trace_id: caller.trace && readTraceId(caller.trace),
    reason: error.reason,
    cause_kind: error.cause === undefined ? undefined : errorKind(error.cause),
  };
  if (error.reason === "internal") log.error("request_failed", fields);
  else log.info("request_refused", fields);
}

/**
 * Server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html): messages of one line each, framed. Where nothing
 * was to be said for `keepAliveMs`, a comment goes out, so that nobody in between takes the connection for dead. Returned early it
 * returns `messages`, and waits for nothing: whoever makes them must be told by a signal.
 */
export async function* serverSentEvents({
  messages,
  keepAliveMs,
}: {
  messages: AsyncIterable<string>;
  keepAliveMs: number;
}): AsyncGenerator<string> {
  const iterator = messages[Symbol.asyncIterator]();
  try {
    let next = iterator.next();
    for (;;) {
      const turn = await waitAtMost({ work: next, timeoutMs: keepAliveMs });
      if (turn === undefined) {
        yield ": still here\n\n";
        continue;
      }
      if (turn.done) return;
      yield `data: ${turn.value}\n\n`;
      next = iterator.next();
    }
  } finally {
    iterator.return?.().catch(() => {});
  }
}
