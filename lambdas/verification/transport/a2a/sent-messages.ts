/** Where messages went: one that may have arrived at one interface goes to no other, which need not know the first one's tasks. */
import { SekishoError } from "../../../../contracts/errors.ts";

/** Those of long ago are not repeated any more. */
const maxKept = 1000;

export type SentMessages = {
  /** `isUntouched` says of an answer that nothing was processed. Rejects as `post` does, and with `ambiguous` instead of posting elsewhere. */
  send<T>(request: {
    messageId: string;
    place: string;
    post: () => Promise<T>;
    isUntouched: (answer: T) => boolean;
  }): Promise<T>;
};

/** Known to this process alone. */
export function createSentMessages(): SentMessages {
  const places = new Map<string, string>();

  return {
    async send({ messageId, place, post, isUntouched }) {
      const earlier = places.get(messageId);
      if (earlier !== undefined && earlier !== place) {
        const cause = new Error("the message may have arrived at another interface of the agent");
        throw new SekishoError("ambiguous", { cause });
      }
      const [oldest] = places.keys();
      if (places.size >= maxKept && oldest !== undefined) places.delete(oldest);
      places.set(messageId, place);
      // The doubt of an earlier try stays, whatever the last one comes to.
      const forget = () => earlier === undefined && places.delete(messageId);
      try {
        const answer = await post();
        if (isUntouched(answer)) forget();
        return answer;
      } catch (thrown) {
        if (thrown instanceof SekishoError && thrown.undelivered) forget();
        throw thrown;
      }
    },
  };
}
