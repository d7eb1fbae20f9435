/** A2A over JSON-RPC (A2A 1.0, section 9; 0.3, section 3.2.1): answers one request of an authenticated caller. */
import { questionKey, slackMessageKey, taskKey } from "@sekisho/contracts/a2a/extension.ts";
import {
  type A2aVersion,
  type OperationName,
  toA2aOperation,
} from "@sekisho/contracts/a2a/operations.ts";
import type { StreamEvent } from "@sekisho/contracts/a2a/task.ts";
import type { V03OperationName } from "@sekisho/contracts/a2a/v03/params.ts";
import { resultToV03 } from "@sekisho/contracts/a2a/v03/results.ts";
import type { JsonRpcRequest, RequestId } from "@sekisho/contracts/envelope.ts";
import { encodeError } from "@sekisho/contracts/error-data.ts";
import { SekishoError } from "@sekisho/contracts/errors.ts";
import { waitAtMost } from "@sekisho/runtime/async/deadline.ts";
import type { TaskQueue } from "@sekisho/runtime/engine/ports.ts";
import { errorKind } from "@sekisho/runtime/error-kind.ts";
import type { Log } from "@sekisho/runtime/log.ts";
import { type Metrics, noMetrics, readTraceId } from "@sekisho/runtime/telemetry/telemetry.ts";
import { toWellFormedJson } from "@sekisho/runtime/untrusted-input.ts";
import {
  type AuthenticatedCaller,
  createErrorAnswer,
  createJsonAnswer,
  type Exchange,
  type ExchangeResponse,
} from "../exchange.ts";
import { createTooManyCallsError, type RunSlots } from "../limits.ts";
import { toLoggableId } from "../tasks/execution-task.ts";
import type { ServedCards } from "./cards.ts";
import type { OperationCall, OperationHandler, OperationHandlers } from "./operation.ts";
import { createOperations } from "./operations.ts";
import { createPushConfigs } from "./push-configs.ts";
import type { PushOutbox } from "./push-outbox.ts";
import {
  dialects,
  findOperation,
  readParams,
  readRequestedVersion,
  resolveVersion,
  toDialect,
} from "./version.ts";

/** A request without an id is answered with the id `null`. */
type A2aRequest = Omit<JsonRpcRequest, "id"> & { id: RequestId | null };
type Call = { request: A2aRequest; caller: AuthenticatedCaller; exchange: Exchange };
export type A2aEndpoint = (call: Call) => Promise<ExchangeResponse>;

const streamingOperations: readonly OperationName[] = ["SendStreamingMessage", "SubscribeToTask"];

const streamHeaders = {
  "content-type": "text/event-stream",
  "cache-control": "no-store",
  "x-accel-buffering": "no",
  "x-content-type-options": "nosniff",
};

/** Never rejects. An error before a stream's first event is a plain answer; a later one is the stream's last event. */
function createA2aEndpoint(options: {
  operations: OperationHandlers;
  tenant?: string | undefined;
  keepAliveMs: number;
  /** Counts the streams of each caller. */
  calls: RunSlots;
  newId: () => string;
  random: () => number;
  metrics?: Metrics;
  log: Log;
}): A2aEndpoint {
  const {
    operations,
    tenant,
    keepAliveMs,
    calls,
    newId,
    random,
    metrics = noMetrics,
    log,
  } = options;
  return async ({ request, caller, exchange }) => {
    const { id, method, params } = request;
    const requestedVersion = readRequestedVersion(exchange);
    let knownVersion: A2aVersion | undefined;
    let isStream = false;
    let release: (() => void) | undefined;
    const refuse = (cause: unknown) => {
      const error = SekishoError.from(cause);
      metrics.add("sekisho_requests_refused_total", { zone: "execution", reason: error.reason });
      logRefusal({ log, error, request, caller, version: knownVersion });
      return {
        error,
        id,
        dialect: knownVersion === undefined ? toDialect(requestedVersion) : dialects[knownVersion],
      };
    };
    try {
      const version = resolveVersion({ requestedVersion, method });
      knownVersion = version;
      const operation = findOperation({ method, version });
      const wantsStream = streamingOperations.includes(operation);
      if (wantsStream && !exchange.canStream) throw new SekishoError("unsupported_operation");
      isStream = wantsStream;
      const checkedParams = readParams({ operation, version, params, tenant });
      // Checked before the operation starts, because an accepted task must not be refused.
      if (isStream) release = calls.take({ principal: caller.principal, id: newId() });
      if (isStream && release === undefined) throw createTooManyCallsError({ random });
      // The params match the operation; TypeScript cannot follow the name through both tables.
      const handler = operations[operation] as OperationHandler<OperationName>;
      const result = await handler({
        params: checkedParams,
        version,
        caller,
        client: exchange,
      } as OperationCall<OperationName>);
      const answer = (value: unknown) => ({
        jsonrpc: "2.0",
        id,
        result: toVersion({ operation, version, value }),
      });
      const confirmedHeaders = extensionHeaders(exchange);
      if (!isStream) {
        const response = createJsonAnswer(answer(result));
        return { ...response, headers: { ...response.headers, ...confirmedHeaders } };
      }
      const releaseSlot = () => release?.();
      exchange.openSignal().addEventListener("abort", releaseSlot, { once: true });
      const fail = (error: unknown) => ({
        jsonrpc: "2.0",
        id,
        error: encodeError(refuse(error)),
      });
      const messages = encodeEvents({ events: result as AsyncIterable<StreamEvent>, answer, fail });
      const body = serverSentEvents({
        messages: withEndHandler({ messages, onEnd: releaseSlot }),
        keepAliveMs,
      });
      return { status: 200, headers: { ...streamHeaders, ...confirmedHeaders }, body };
    } catch (error) {
      release?.();
      const refusal = refuse(error);
      // Clients of 0.3 expect an event stream, as their SDK's server sends.
      if (!(isStream && knownVersion === "0.3")) return createErrorAnswer(refusal);
      const body = onlyEvent({ jsonrpc: "2.0", id, error: encodeError(refusal) });
      return { status: 200, headers: streamHeaders, body };
    }
  };
}

async function* onlyEvent(message: unknown): AsyncGenerator<string> {
  yield toEvent(JSON.stringify(message));
}

/** Calls `onEnd` when the messages end or the iterator is returned, even if nothing was read. */
function withEndHandler({
  messages,
  onEnd,
}: {
  messages: AsyncGenerator<string>;
  onEnd: () => void;
}): AsyncIterable<string> {
  return {
    [Symbol.asyncIterator]: () => ({
      async next() {
        const turn = await messages.next();
        if (turn.done) onEnd();
        return turn;
      },
      async return() {
        onEnd();
        return messages.return(undefined);
      },
    }),
  };
}

function toVersion({
  operation,
  version,
  value,
}: {
  operation: OperationName;
  version: A2aVersion;
  value: unknown;
}) {
  return version === "1.0"
    ? value
    : resultToV03({ operation: operation as V03OperationName, result: value as never });
}

type EventEncoding = {
  events: AsyncIterable<StreamEvent>;
  answer: (event: StreamEvent) => unknown;
  fail: (error: unknown) => unknown;
};

async function* encodeEvents({ events, answer, fail }: EventEncoding): AsyncGenerator<string> {
  try {
    for await (const event of events) yield toWellFormedJson(answer(event));
  } catch (error) {
    yield JSON.stringify(fail(error));
  }
}

const extensionUris: readonly string[] = [slackMessageKey, questionKey, taskKey];
const headerNames = ["a2a-extensions", "x-a2a-extensions"] as const;

/**
 * Confirms the requested extensions that this host supports (A2A 1.0, section 3.2.6), in the same header that the request used: 0.3 calls it
 * X-A2A-Extensions.
 */
function extensionHeaders({ header }: Pick<Exchange, "header">): Record<string, string> {
  const name = headerNames.find((headerName) => header(headerName) !== undefined);
  if (name === undefined) return {};
  const requestedUris = (header(name) ?? "").split(",").map((uri) => uri.trim());
  const confirmedUris = extensionUris.filter((uri) => requestedUris.includes(uri));
  return confirmedUris.length === 0 ? {} : { [name]: confirmedUris.join(", ") };
}

/** Logs a caller's mistake at `info`. */
function logRefusal(input: {
  log: Log;
  error: SekishoError;
  request: A2aRequest;
  caller: AuthenticatedCaller;
  version: A2aVersion | undefined;
}): void {
  const { log, error, caller, version } = input;
  const { method, params } = input.request;
  const { id, taskId, message } = Object(params) as {
    id?: unknown;
    taskId?: unknown;
    message?: unknown;
  };
  const messageIds = Object(message) as { messageId?: unknown; taskId?: unknown };
  const fields = {
    operation: toA2aOperation(method)?.operation,
    version,
    task_id:
      error.details.task_id ??
      [taskId, messageIds.taskId, id]
        .map(toLoggableId)
        .find((loggableId) => loggableId !== undefined),
    request_id: toLoggableId(error.details.correlation_id) ?? toLoggableId(messageIds.messageId),
    trace_id: caller.trace && readTraceId(caller.trace),
    reason: error.reason,
    cause_kind: error.cause === undefined ? undefined : errorKind(error.cause),
  };
  if (error.reason === "internal") log.error("request_failed", fields);
  else log.info("request_refused", fields);
}

/**
 * Frames messages of one line as server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html). Sends a comment after
 * `keepAliveMs` of silence, so that proxies keep the connection open. An early return also returns `messages` without waiting for it, so
 * its producer must stop on a signal.
 */
export async function* serverSentEvents(request: {
  messages: AsyncIterable<string>;
  keepAliveMs: number;
}): AsyncGenerator<string> {
  const { messages, keepAliveMs } = request;
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
      yield toEvent(turn.value);
      next = iterator.next();
    }
  } finally {
    iterator.return?.().catch(() => {});
  }
}

function toEvent(line: string): string {
  return `data: ${line}\n\n`;
}

export type A2aSettings = {
  cards: ServedCards;
  /** The tenant that clients of 1.0 must send. Without it, they must send none. */
  tenant?: string | undefined;
  /** The queue of push notices. Without it, push notifications are not supported. */
  notifications?: TaskQueue | undefined;
  /** How long a watched task may be unstarted before it is checked. */
  unstartedAfterMs?: number;
  /** True if push notifications may go to this machine. */
  allowLoopbackPush?: boolean;
  /** True if a repeated message id means the same message. Default: true. */
  deduplicates?: boolean | undefined;
  /** False where callers cannot be told apart, so that none sees the tasks of others. Default: true. */
  listsTasks?: boolean | undefined;
  /** How long a stream waits for a direct answer before it shows the task. */
  firstSignMs?: number;
  /** The silence after which a stream sends a comment. */
  keepAliveMs?: number;
};

type OpenA2a = A2aSettings &
  Omit<Parameters<typeof createOperations>[0], "pushConfigs"> & {
    outbox: PushOutbox | undefined;
    /** Counts the streams of each caller. */
    calls: RunSlots;
    random: () => number;
    metrics: Metrics;
    log: Log;
  };

export function openA2a(options: OpenA2a) {
  const { tasks, cards, outbox, allowLoopbackPush = false, keepAliveMs = 15_000, newId } = options;
  const pushConfigs = createPushConfigs({ tasks, outbox, allowLoopback: allowLoopbackPush, newId });
  const operations = createOperations({ ...options, pushConfigs });
  return {
    endpoint: createA2aEndpoint({ ...options, operations, keepAliveMs }),
    card: cards.endpoint,
  };
}
