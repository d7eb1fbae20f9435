/** Calls an operation of the agent in the highest version that it supports, and finds a task by its first message. */
import type { ReadCard } from "@sekisho/contracts/a2a/card.ts";
import type { OperationParams } from "@sekisho/contracts/a2a/operations.ts";
import { SekishoError } from "@sekisho/contracts/errors.ts";
import type { AuthorizedSend } from "../http/transport.ts";
import type { CalledOperation, PassedResponse } from "./binding.ts";
import type { CardSource } from "./card-source.ts";
import type { UsableInterface } from "./interfaces.ts";
import { createSentMessages } from "./messages.ts";
import { type OperationAnswer, type PeerCall, postOperation } from "./post-operation.ts";

export type CallOperation = <O extends CalledOperation>(request: {
  operation: O;
  params: OperationParams<O>;
  call: PeerCall;
}) => Promise<OperationAnswer<O>>;

/** `interfacesOf` returns the usable interfaces of a card, best first. */
export function createCallOperation(options: {
  cards: CardSource;
  interfacesOf: (card: ReadCard) => readonly [UsableInterface, ...UsableInterface[]];
  http: AuthorizedSend;
  maxResponseBytes: number;
}): CallOperation {
  const { cards, interfacesOf, http, maxResponseBytes } = options;
  /** The latest interfaces that refused their version or binding. They are tried last from then on. */
  let refusedKeys: readonly string[] = [];
  const sentMessages = createSentMessages();

  /** The next interface of the card: one that did not refuse lately, or else the best. */
  function choose(candidates: readonly UsableInterface[]): UsableInterface | undefined {
    return candidates.find((one) => !refusedKeys.includes(toInterfaceKey(one))) ?? candidates[0];
  }

  return async ({ operation, params, call }) => {
    const isRefused = (answer: OperationAnswer<typeof operation>) =>
      "passed" in answer && answer.isVersionRefused;
    const post = (to: UsableInterface) => {
      const postOnce = () => postOperation({ to, operation, params, call, http, maxResponseBytes });
      if (operation !== "SendMessage") return postOnce();
      return sentMessages.send({
        messageId: call.id,
        interfaceKey: toInterfaceKey(to),
        post: postOnce,
        isUntouched: isRefused,
      });
    };
    let card = await cards.current(call);
    const interfaces = interfacesOf(card);
    const firstInterface = choose(interfaces) ?? interfaces[0];
    const triedKeys: string[] = [];
    for (let to = firstInterface; ; ) {
      const answer = await post(to);
      if (!isRefused(answer)) return answer;
      // Nothing was processed. The agent may have changed since its card was read.
      const key = toInterfaceKey(to);
      refusedKeys = [key, ...refusedKeys].slice(0, maxTries);
      if (triedKeys.push(key) === 1) {
        const oldCard = card;
        cards.forget(oldCard);
        card = await cards.current(call).catch(() => oldCard);
      }
      const untriedInterfaces = interfacesOf(card).filter(
        (one) => one.tenant === firstInterface.tenant && !triedKeys.includes(toInterfaceKey(one)),
      );
      const nextInterface = choose(untriedInterfaces);
      if (nextInterface === undefined || triedKeys.length === maxTries) return answer;
      to = nextInterface;
    }
  };
}

/** Two versions over two bindings. */
const maxTries = 4;

function toInterfaceKey({ url, version, binding, tenant }: UsableInterface): string {
  return JSON.stringify([url.href, version, binding, tenant]);
}

/** The task is among the latest, which come first (A2A 1.0, section 3.1.4). */
const maxPages = 3;
const pageSize = 20;
/** A task's first message is the oldest of its history. */
const historyLength = 20;

/**
 * Finds a task by the id of its first message. Rejects with `unsupported_operation` if it is not listed. `task_not_found` would be wrong,
 * because it means that the task does not exist, but agents may list a task late, drop its history, or answer without a task.
 */
export async function findTaskByMessage(request: {
  messageId: string;
  ask: CallOperation;
  call: PeerCall;
}): Promise<{ taskId: string } | PassedResponse> {
  const { messageId, ask, call } = request;
  let pageToken: string | undefined;
  for (let page = 0; page < maxPages; page += 1) {
    const params = { contextId: call.sessionId, pageSize, pageToken, historyLength };
    const answer = await ask({ operation: "ListTasks", params, call }).catch(throwListingFailure);
    if ("passed" in answer) return answer;
    const { tasks, nextPageToken } = answer.result;
    const namedTask = tasks.find((task) =>
      task.history.some((message) => message.messageId === messageId),
    );
    if (namedTask !== undefined) return { taskId: namedTask.id };
    if (nextPageToken === undefined) break;
    pageToken = nextPageToken;
  }
  throw new SekishoError("unsupported_operation");
}

/** A listing that is too large says nothing about the task's own size. */
function throwListingFailure(error: unknown): never {
  if (error instanceof SekishoError && error.reason === "payload_too_large") {
    throw new SekishoError("unsupported_operation", { cause: error });
  }
  throw error;
}
