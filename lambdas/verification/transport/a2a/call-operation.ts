/** Calls an operation of the agent in the highest version that it supports, and finds a task by its first message. */
import type { ReadCard } from "@sekisho/contracts/a2a/card.ts";
import type { OperationParams } from "@sekisho/contracts/a2a/operations.ts";
import { SekishoError } from "@sekisho/contracts/errors.ts";
import type { A2aCarrier } from "../carrier.ts";
import { parseEnvelope } from "../read-response.ts";
import type { TransportResponse } from "../transport.ts";
import type { CardSource } from "./card-source.ts";
import type { UsableInterface } from "./interfaces.ts";
import { createSentMessages } from "./messages.ts";
import {
  type CalledOperation,
  type OperationAnswer,
  type PassedResponse,
  type PeerCall,
  postOperation,
} from "./post-operation.ts";

export type CallOperation = <O extends CalledOperation>(request: {
  operation: O;
  params: OperationParams<O>;
  call: PeerCall;
}) => Promise<OperationAnswer<O>>;

/** `interfacesOf` returns the usable interfaces of a card, best first. */
export function createCallOperation(options: {
  cards: CardSource;
  interfacesOf: (card: ReadCard) => readonly [UsableInterface, ...UsableInterface[]];
  carrier: A2aCarrier;
}): CallOperation {
  const { cards, interfacesOf, carrier } = options;
  /** The last interface that refused the version that its card names. It is tried last from then on. */
  let refusedKey: string | undefined;
  const sentMessages = createSentMessages();

  function choose(card: ReadCard): UsableInterface {
    const interfaces = interfacesOf(card);
    return interfaces.find((one) => toInterfaceKey(one) !== refusedKey) ?? interfaces[0];
  }

  return async ({ operation, params, call }) => {
    const isRefused = (answer: OperationAnswer<typeof operation>) =>
      "passed" in answer && isVersionRefused({ answer: answer.passed, operation, id: call.id });
    const post = (to: UsableInterface) => {
      const postOnce = () => postOperation({ to, operation, params, call, carrier });
      if (operation !== "SendMessage") return postOnce();
      return sentMessages.send({
        messageId: call.id,
        interfaceKey: toInterfaceKey(to),
        post: postOnce,
        isUntouched: isRefused,
      });
    };
    const card = await cards.current(call);
    const firstInterface = choose(card);
    const answer = await post(firstInterface);
    if (!isRefused(answer)) return answer;
    // Nothing was processed. The agent may have changed since its card was read.
    refusedKey = toInterfaceKey(firstInterface);
    cards.forget(card);
    const secondInterface = choose(await cards.current(call).catch(() => card));
    const mayFollow =
      toInterfaceKey(secondInterface) !== toInterfaceKey(firstInterface) &&
      secondInterface.tenant === firstInterface.tenant;
    return mayFollow ? post(secondInterface) : answer;
  };
}

const versionNotSupported = -32009;
const methodNotFound = -32601;

/**
 * True if the agent refused the version, so that nothing was processed. Every agent of a version has its `SendMessage`, so "method not
 * found" for it means a wrong version. Other methods may be missing in any version.
 */
function isVersionRefused(request: {
  answer: TransportResponse;
  operation: CalledOperation;
  id: string;
}): boolean {
  const { answer, operation, id } = request;
  const envelope = parseEnvelope({ body: answer.body, repairs: true });
  if (envelope === undefined || !("error" in envelope)) return false;
  const { code } = envelope.error;
  // An agent that does not support the version may be unable to read the id.
  if (code === versionNotSupported) return envelope.id === id || envelope.id === null;
  return code === methodNotFound && operation === "SendMessage" && envelope.id === id;
}

function toInterfaceKey({ url, version, tenant }: UsableInterface): string {
  return JSON.stringify([url.href, version, tenant]);
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
