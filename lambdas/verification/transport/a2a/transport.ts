/** Calls an A2A agent (https://a2a-protocol.org), 1.0 or 0.3, over JSON-RPC and any carrier. Maps the zone contract's methods to A2A operations. */
import type { ReadCard } from "@sekisho/contracts/a2a/card.ts";
import type { A2aVersion, OperationParams } from "@sekisho/contracts/a2a/operations.ts";
import { isUnread, mayHaveRun } from "@sekisho/contracts/certainty.ts";
import { requestSchema } from "@sekisho/contracts/envelope.ts";
import { encodeError } from "@sekisho/contracts/error-data.ts";
import { SekishoError } from "@sekisho/contracts/errors.ts";
import {
  methods,
  type ParamsOf,
  type ResultOf,
  type TaskResult,
} from "@sekisho/contracts/methods.ts";
import type { A2aCarrier } from "../carrier.ts";
import type { Transport, TransportResponse } from "../transport.ts";
import { createCallOperation } from "./call-operation.ts";
import { createCardSource } from "./card-source.ts";
import { hasHitl, isHitlAnswer } from "./hitl.ts";
import { listUsableInterfaces } from "./interfaces.ts";
import { createAnswerParams, createTaskMessage } from "./messages.ts";
import type { PeerCall, ReceivedSize } from "./post-operation.ts";
import { createTaskReads, requireSameTask } from "./task-reads.ts";
import { toCancelResult, toZoneResult } from "./task-result.ts";

/**
 * `version` replaces the highest common version. A problem with the card fails the call before anything is sent. A task that ended in
 * failure becomes an error object of the zone contract. The peer's own errors pass unchanged.
 */
export function createA2aTransport(options: {
  carrier: A2aCarrier;
  version?: A2aVersion | undefined;
  now?: (() => number) | undefined;
  random?: (() => number) | undefined;
}): Transport {
  const { carrier, version, now = Date.now, random = Math.random } = options;
  const { cardUrl, url, stopSession } = carrier;
  const cards = createCardSource({ carrier, version: version ?? "1.0", now, random });
  const interfacesOf = (card: ReadCard) => listUsableInterfaces({ card, cardUrl, url, version });
  const ask = createCallOperation({ cards, interfacesOf, carrier });
  const tasks = createTaskReads({ cards, ask });

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

  async function get(params: ParamsOf<"get_task">, call: PeerCall) {
    const polledTask = await tasks.poll(params, call);
    return "passed" in polledTask ? polledTask.passed : respond({ call, ...polledTask });
  }

  async function answerTask(params: ParamsOf<"answer_task">, call: PeerCall) {
    const messageId = call.id;
    if (!hasHitl(await cards.current(call)) && !isHitlAnswer(params))
      return sendMessage(createAnswerParams({ messageId, params }), call);
    const answer = await tasks.read({ taskId: params.task_id, call }).catch(throwUnsentError);
    if ("passed" in answer) return answer.passed;
    const task = answer.result;
    return sendMessage(createAnswerParams({ messageId, params, task }), call);
  }

  async function cancel(key: ParamsOf<"cancel_task">, call: PeerCall) {
    const taskRef = await tasks.find(key, call);
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
          return answerTask(methods[method].params.parse(params), call);
        case "get_task":
          return get(methods[method].params.parse(params), call);
        case "cancel_task":
          return cancel(methods[method].params.parse(params), call);
        default:
          throw new SekishoError("unsupported_operation");
      }
    },
    async describe(request) {
      const card = await cards.current(request);
      const [bestInterface] = interfacesOf(card);
      return { name: card.name, url: bestInterface.url.href, version: bestInterface.version };
    },
    ...(stopSession === undefined ? {} : { stopSession }),
    async close() {
      await carrier.close?.();
    },
  };
}

/** Throws the error of a read before a message. The message was not sent, so the outcome is never unknown. */
function throwUnsentError(error: unknown): never {
  if (!(error instanceof SekishoError) || !mayHaveRun(error) || isUnread(error)) throw error;
  const { reason, details } = error;
  throw new SekishoError(reason === "ambiguous" ? "unavailable" : reason, {
    ...{ details, cause: error },
    certainty: "undelivered",
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
