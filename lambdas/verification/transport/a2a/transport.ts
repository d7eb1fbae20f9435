/** An agent that speaks A2A (https://a2a-protocol.org), 1.0 or 0.3, over JSON-RPC: the zone contract's methods as its operations. */
import type { ReadCard } from "../../../../contracts/a2a/card.ts";
import type { A2aVersion } from "../../../../contracts/a2a/operations.ts";
import { fromA2aState } from "../../../../contracts/a2a/states.ts";
import type { A2aTask, SendResult } from "../../../../contracts/a2a/task.ts";
import { encodeError } from "../../../../contracts/encode-error.ts";
import { requestSchema } from "../../../../contracts/envelope.ts";
import { SekishoError } from "../../../../contracts/errors.ts";
import { methods, type ParamsOf } from "../../../../contracts/methods.ts";
import type { Authorizer } from "../authorizer/authorizer.ts";
import { createAuthorizedSend } from "../http/authorized-send.ts";
import { checkedUrl } from "../http/checked-url.ts";
import { defaultMaxResponseBytes } from "../read-capped.ts";
import type { Transport, TransportResponse } from "../transport.ts";
import { createAsk } from "./ask.ts";
import { createCardSource } from "./card-source.ts";
import { findTask } from "./find-task.ts";
import { usableInterfaces } from "./interfaces.ts";
import { answerToSend, historyLength, taskToSend } from "./messages.ts";
import type { Asked, PeerCall } from "./post-operation.ts";
import { toZoneResult } from "./task-result.ts";

export type A2aTransport = Transport & {
  /** What the card says of the agent, and where and in which version it would be called. Rejects as `send` does for a card. */
  describe(request: { signal: AbortSignal }): Promise<{ name: string; url: string; version: A2aVersion }>;
};

/**
 * Throws for URLs that are not https (http on loopback) or that hold credentials. `url` takes the place of the address that the
 * card names, `version` that of the highest common one. Whatever is wrong with the card fails before anything was sent. The
 * state in which a task ended comes back as an error object of the zone contract; the peer's own errors as they are.
 */
export function createA2aTransport({
  cardUrl: cardAddress,
  url: address,
  version,
  authorizer,
  maxResponseBytes = defaultMaxResponseBytes,
  connectTimeoutMs,
  now = Date.now,
  random = Math.random,
}: {
  cardUrl: string;
  url?: string | undefined;
  version?: A2aVersion | undefined;
  authorizer: Authorizer;
  maxResponseBytes?: number;
  connectTimeoutMs?: number;
  now?: () => number;
  random?: () => number;
}): A2aTransport {
  const cardUrl = checkedUrl(cardAddress);
  const url = address === undefined ? undefined : checkedUrl(address);
  const http = createAuthorizedSend({ authorizer, connectTimeoutMs, now });
  const cards = createCardSource({ cardUrl, version: version ?? "1.0", http, now, random });
  const interfacesOf = (card: ReadCard) => usableInterfaces({ card, cardUrl, url, version });
  const ask = createAsk({ cards, interfacesOf, http, maxResponseBytes });

  /** By its id, or by that of the message that began it. */
  async function idOf({ key, call }: { key: ParamsOf<"get_task">; call: PeerCall }) {
    if (key.task_id !== undefined) return { taskId: key.task_id };
    return findTask({ messageId: key.request_id ?? "", ask, call });
  }

  async function get({ key, call }: { key: ParamsOf<"get_task">; call: PeerCall }) {
    const found = await idOf({ key, call });
    if ("passed" in found) return found.passed;
    const asked = await ask({ operation: "GetTask", params: { id: found.taskId, historyLength }, call });
    return answer({
      asked,
      call,
      read: (task: A2aTask, retryAfterMs) => toZoneResult({ result: { task }, retryAfterMs }),
    });
  }

  async function cancel({ key, call }: { key: ParamsOf<"cancel_task">; call: PeerCall }) {
    const found = await idOf({ key, call });
    if ("passed" in found) return found.passed;
    const asked = await ask({ operation: "CancelTask", params: { id: found.taskId }, call });
    return answer({ asked, call, read: canceled });
  }

  return {
    async send({ body, ...way }) {
      const request = requestSchema.parse(JSON.parse(Buffer.from(body).toString()));
      const call = { ...way, id: String(request.id) };
      switch (request.method) {
        case "execute_task": {
          const params = methods.execute_task.params.parse(request.params);
          const sent = taskToSend({ messageId: call.id, contextId: params.session_id ?? way.sessionId, params });
          return answer({ asked: await ask({ operation: "SendMessage", params: sent, call }), call, read: answered });
        }
        case "answer_task": {
          const params = methods.answer_task.params.parse(request.params);
          const sent = answerToSend({ messageId: call.id, params });
          return answer({ asked: await ask({ operation: "SendMessage", params: sent, call }), call, read: answered });
        }
        case "get_task":
          return get({ key: methods.get_task.params.parse(request.params), call });
        case "cancel_task":
          return cancel({ key: methods.cancel_task.params.parse(request.params), call });
        default:
          throw new SekishoError("unsupported_operation");
      }
    },
    async describe({ signal }) {
      const card = await cards.current({ signal });
      const [chosen] = interfacesOf(card);
      return { name: card.name, url: chosen.url.href, version: chosen.version };
    },
    async close() {
      http.close();
    },
  };
}

const answered = (result: SendResult, retryAfterMs: number | undefined) => toZoneResult({ result, retryAfterMs });

/** Canceling is best effort (A2A 1.0, section 3.1.5): only the state says whether it came to pass. */
function canceled({ id, status }: A2aTask): { status: "canceled"; task_id: string } | SekishoError {
  const { state } = fromA2aState(status.state);
  if (state === "canceled") return { status: "canceled", task_id: id };
  return new SekishoError("invalid_state", { details: { current: state, target: "canceled" } });
}

/** The zone contract's response: with the result, or with the error that it stands for. */
function answer<R>({
  asked,
  call: { id },
  read,
}: {
  asked: { result: R; retryAfterMs: number | undefined } | Extract<Asked<"GetTask">, { passed: unknown }>;
  call: PeerCall;
  read: (result: R, retryAfterMs: number | undefined) => object | SekishoError;
}): TransportResponse {
  if ("passed" in asked) return asked.passed;
  const result = read(asked.result, asked.retryAfterMs);
  const outcome =
    result instanceof SekishoError ? { error: encodeError({ error: result, dialect: "zone" }) } : { result };
  return { body: Buffer.from(JSON.stringify({ jsonrpc: "2.0", id, ...outcome })) };
}
