/** One operation at the agent that a card describes, in the highest version that it takes. */
import type { ReadCard } from "../../../../contracts/a2a/card.ts";
import type { OperationParams } from "../../../../contracts/a2a/operations.ts";
import type { AuthorizedSend } from "../http/authorized-send.ts";
import { parseEnvelope } from "../read-response.ts";
import type { TransportResponse } from "../transport.ts";
import type { CardSource } from "./card-source.ts";
import type { UsableInterface } from "./interfaces.ts";
import { type Asked, type PeerCall, postOperation } from "./post-operation.ts";
import type { Operation } from "./results.ts";
import { createSentMessages } from "./sent-messages.ts";

export type Ask = <O extends Operation>(request: {
  operation: O;
  params: OperationParams<O>;
  call: PeerCall;
}) => Promise<Asked<O>>;

/** `interfacesOf` gives the interfaces of a card that may be used, the best first. */
export function createAsk({
  cards,
  interfacesOf,
  http,
  maxResponseBytes,
}: {
  cards: CardSource;
  interfacesOf: (card: ReadCard) => readonly [UsableInterface, ...UsableInterface[]];
  http: AuthorizedSend;
  maxResponseBytes: number;
}): Ask {
  /** The last interface that did not take the version that its card names: the others come before it from then on. */
  let refused: string | undefined;
  const sent = createSentMessages();

  function choose(card: ReadCard): UsableInterface {
    const interfaces = interfacesOf(card);
    return interfaces.find((one) => keyOf(one) !== refused) ?? interfaces[0];
  }

  return async ({ operation, params, call }) => {
    const isRefused = (answer: Asked<typeof operation>) =>
      "passed" in answer && isVersionRefused({ answer: answer.passed, operation, id: call.id });
    const post = (to: UsableInterface) => {
      const once = () => postOperation({ to, operation, params, call, http, maxResponseBytes });
      if (operation !== "SendMessage") return once();
      return sent.send({ messageId: call.id, place: keyOf(to), post: once, isUntouched: isRefused });
    };
    const card = await cards.current(call);
    const first = choose(card);
    const answer = await post(first);
    if (!isRefused(answer)) return answer;
    // Nothing was processed. The agent may have been updated since its card was read.
    refused = keyOf(first);
    cards.forget(card);
    const second = choose(await cards.current(call).catch(() => card));
    const mayFollow = keyOf(second) !== keyOf(first) && second.tenant === first.tenant;
    return mayFollow ? post(second) : answer;
  };
}

const versionNotSupported = -32009;
const methodNotFound = -32601;

/**
 * Only the response to this very request says that nothing was processed. What every agent takes, by the name that it has in the
 * version, is a message; another method that is not found is one that the agent lacks.
 */
function isVersionRefused({
  answer,
  operation,
  id,
}: {
  answer: TransportResponse;
  operation: Operation;
  id: string;
}): boolean {
  const envelope = parseEnvelope(answer.body);
  if (envelope === undefined || !("error" in envelope)) return false;
  const { code } = envelope.error;
  // Who does not know the version may not read the id either.
  if (code === versionNotSupported) return envelope.id === id || envelope.id === null;
  return code === methodNotFound && operation === "SendMessage" && envelope.id === id;
}

function keyOf({ url, version, tenant }: UsableInterface): string {
  return JSON.stringify([url.href, version, tenant]);
}
