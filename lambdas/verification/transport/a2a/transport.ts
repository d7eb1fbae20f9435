/** Calls an A2A agent (https://a2a-protocol.org), 1.0 or 0.3, over JSON-RPC or HTTP+JSON. Maps the zone contract's methods to A2A operations. */
import type { ReadCard } from "@sekisho/contracts/a2a/card.ts";
import type { A2aVersion, OperationParams } from "@sekisho/contracts/a2a/operations.ts";
import { requestSchema } from "@sekisho/contracts/envelope.ts";
import { encodeError } from "@sekisho/contracts/error-data.ts";
import { SekishoError } from "@sekisho/contracts/errors.ts";
import {
  methods,
  type ParamsOf,
  type ResultOf,
  type TaskResult,
} from "@sekisho/contracts/methods.ts";
import { type Authorizer, parseCheckedUrl } from "@sekisho/runtime/auth/authorizer.ts";
import { createAuthorizedSend } from "../http/transport.ts";
import { defaultMaxResponseBytes } from "../response-body.ts";
import type { Transport, TransportResponse } from "../transport.ts";
import { createCallOperation, findTaskByMessage } from "./call-operation.ts";
import { createCardSource } from "./card-source.ts";
import { listUsableInterfaces } from "./interfaces.ts";
import { createAnswerParams, createTaskMessage, historyLength } from "./messages.ts";
import type { PeerCall, ReceivedSize } from "./post-operation.ts";
import { toCancelResult, toZoneResult } from "./task-result.ts";

/**
 * Throws for URLs that are not https (http on loopback) or that hold credentials. `url` replaces the address that the card names, and
 * `version` the highest common version. A problem with the card fails the call before anything is sent. A task that ended in failure
 * becomes an error object of the zone contract. The peer's own errors pass unchanged.
 */
export function createA2aTransport(options: {
  cardUrl: string;
  url?: string | undefined;
  version?: A2aVersion | undefined;
  authorizer: Authorizer;
  maxResponseBytes?: number;
  connectTimeoutMs?: number;
  now?: () => number;
  random?: () => number;
}): Transport {
  const { cardUrl: cardAddress, url: address, version, authorizer } = options;
  const { maxResponseBytes = defaultMaxResponseBytes, connectTimeoutMs, now = Date.now } = options;
  const { random = Math.random } = options;
  const cardUrl = parseCheckedUrl(cardAddress);
  const url = address === undefined ? undefined : parseCheckedUrl(address);
  const http = createAuthorizedSend({ authorizer, connectTimeoutMs, now });
  const cards = createCardSource({ cardUrl, version: version ?? "1.0", http, now, random });
  const interfacesOf = (card: ReadCard) => listUsableInterfaces({ card, cardUrl, url, version });
  const ask = createCallOperation({ cards, interfacesOf, http, maxResponseBytes });

  async function sendMessage(params: OperationParams<"SendMessage">, call: PeerCall) {
    const answer = await ask({ operation: "SendMessage", params, call });
    if ("passed" in answer) return answer.passed;
    const { result } = answer;
    requireSameTask(
      params.message.taskId,
      "task" in result ? result.task.id : result.message.taskId,
    );
    return respond({ call, outcome: toZoneResult(answer), size: answer });
  }

  /** Finds the task by its id, or by the id of the message that began it. */
  async function find({ task_id, request_id = "" }: ParamsOf<"get_task">, call: PeerCall) {
    return task_id === undefined
      ? findTaskByMessage({ messageId: request_id, ask, call })
      : { taskId: task_id };
  }

  async function get(key: ParamsOf<"get_task">, call: PeerCall) {
    const taskRef = await find(key, call);
    if ("passed" in taskRef) return taskRef.passed;
    const answer = await ask({
      operation: "GetTask",
      params: { id: taskRef.taskId, historyLength },
      call,
    });
    if ("passed" in answer) return answer.passed;
    const { result: task, retryAfterMs } = answer;
    requireSameTask(taskRef.taskId, task.id);
    return respond({
      call,
      outcome: toZoneResult({ result: { task }, retryAfterMs }),
      size: answer,
    });
  }

  async function cancel(key: ParamsOf<"cancel_task">, call: PeerCall) {
    const taskRef = await find(key, call);
    if ("passed" in taskRef) return taskRef.passed;
    const answer = await ask({ operation: "CancelTask", params: { id: taskRef.taskId }, call });
    if ("passed" in answer) return answer.passed;
    requireSameTask(taskRef.taskId, answer.result.id);
    return respond({ call, outcome: toCancelResult(answer.result), size: answer });
  }

  return {
    async send({ body, ...exchange }) {
      const { id, method, params } = requestSchema.parse(JSON.parse(Buffer.from(body).toString()));
      const call = { ...exchange, id: String(id) };
      const messageId = call.id;
      switch (method) {
        case "execute_task": {
          const task = methods[method].params.parse(params);
          return sendMessage(
            createTaskMessage({ messageId, contextId: exchange.sessionId, params: task }),
            call,
          );
        }
        case "answer_task":
          return sendMessage(
            createAnswerParams({ messageId, params: methods[method].params.parse(params) }),
            call,
          );
        case "get_task":
          return get(methods[method].params.parse(params), call);
        case "cancel_task":
          return cancel(methods[method].params.parse(params), call);
        default:
          throw new SekishoError("unsupported_operation");
      }
    },
    async describe({ signal }) {
      const card = await cards.current({ signal });
      const [bestInterface] = interfacesOf(card);
      return { name: card.name, url: bestInterface.url.href, version: bestInterface.version };
    },
    async close() {
      http.close();
    },
  };
}

/** Refuses a response about another task, because its answer may be for other people. */
function requireSameTask(
  calledTaskId: string | undefined,
  answeredTaskId: string | undefined,
): void {
  if (calledTaskId === undefined || answeredTaskId === undefined || answeredTaskId === calledTaskId)
    return;
  throw new SekishoError("invalid_response", {
    cause: new Error("the agent answered for another task"),
  });
}

/** Throws `invalid_response` for an outcome that is not valid JSON. The agent has answered, so the call must not look unsent. */
export function respond(request: {
  call: { id: string };
  outcome: TaskResult | ResultOf<"cancel_task"> | SekishoError;
  size: ReceivedSize;
}): TransportResponse {
  const { outcome } = request;
  const { shortened, receivedBytes } = request.size;
  const { id } = request.call;
  const isFailed = outcome instanceof SekishoError;
  const member = isFailed
    ? { error: encodeError({ error: outcome, dialect: "zone" }) }
    : { result: outcome };
  const explanation = isFailed ? outcome.explanation : undefined;
  try {
    return {
      body: Buffer.from(JSON.stringify({ jsonrpc: "2.0", id, ...member })),
      shortened,
      receivedBytes,
      explanation,
    };
  } catch (cause) {
    throw new SekishoError("invalid_response", { cause });
  }
}
