/** Calls an operation of the agent over the best interface that it offers. */
import type { ReadCard } from "@sekisho/contracts/a2a/card.ts";
import { hitlKey } from "@sekisho/contracts/a2a/extension.ts";
import type { OperationParams } from "@sekisho/contracts/a2a/operations.ts";
import type { A2aCarrier } from "../carrier.ts";
import type { CalledOperation } from "./binding.ts";
import type { CardSource } from "./card-source.ts";
import { hasHitl } from "./hitl.ts";
import type { UsableInterface } from "./interfaces.ts";
import { createSentMessages } from "./messages.ts";
import {
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
  /** The latest interfaces that refused their version or binding. They are tried last from then on. */
  let refusedKeys: readonly string[] = [];
  const sentMessages = createSentMessages();

  /** The next interface of the card: one that did not refuse lately, or else the best. */
  function choose(candidates: readonly UsableInterface[]): UsableInterface | undefined {
    return candidates.find((one) => !refusedKeys.includes(toInterfaceKey(one))) ?? candidates[0];
  }

  return async ({ operation, params, call, takeEvent }) => {
    const isRefused = (answer: OperationAnswer<typeof operation>) =>
      "passed" in answer && answer.isVersionRefused;
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
    let card = await cards.current(call);
    const interfaces = interfacesOf(card);
    const firstInterface = choose(interfaces) ?? interfaces[0];
    const triedKeys: string[] = [];
    for (let to = firstInterface; ; ) {
      const answer = await post(to, card);
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
