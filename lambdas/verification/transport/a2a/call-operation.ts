/** Calls an operation of the agent in the highest version that it supports. */
import type { ReadCard } from "@sekisho/contracts/a2a/card.ts";
import { hitlKey } from "@sekisho/contracts/a2a/extension.ts";
import type { OperationParams } from "@sekisho/contracts/a2a/operations.ts";
import type { A2aCarrier } from "../carrier.ts";
import { parseEnvelope } from "../read-response.ts";
import type { TransportResponse } from "../transport.ts";
import type { CardSource } from "./card-source.ts";
import { hasHitl } from "./hitl.ts";
import type { UsableInterface } from "./interfaces.ts";
import { createSentMessages } from "./messages.ts";
import {
  type CalledOperation,
  type OperationAnswer,
  type PeerCall,
  postOperation,
  type TakeEvent,
} from "./post-operation.ts";

export type CallOperation = <O extends CalledOperation>(request: {
  operation: O;
  params: OperationParams<O>;
  call: PeerCall;
  takeEvent?: TakeEvent;
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

  return async ({ operation, params, call, takeEvent }) => {
    const isRefused = (answer: OperationAnswer<typeof operation>) =>
      "passed" in answer && isVersionRefused({ answer: answer.passed, operation, id: call.id });
    const post = (to: UsableInterface, card: ReadCard) => {
      const extensions = hasHitl(card) ? [hitlKey] : [];
      const request = { to, operation, params, call, carrier, extensions, takeEvent };
      const postOnce = () => postOperation(request);
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
    const answer = await post(firstInterface, card);
    if (!isRefused(answer)) return answer;
    // Nothing was processed. The agent may have changed since its card was read.
    refusedKey = toInterfaceKey(firstInterface);
    cards.forget(card);
    const secondCard = await cards.current(call).catch(() => card);
    const secondInterface = choose(secondCard);
    const mayFollow =
      toInterfaceKey(secondInterface) !== toInterfaceKey(firstInterface) &&
      secondInterface.tenant === firstInterface.tenant;
    return mayFollow ? post(secondInterface, secondCard) : answer;
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
