/** Agent cards that are made when the host already listens: its address may be known no sooner, and their key may have to be read. */
import type { AgentCard } from "../../../contracts/a2a/card.ts";
import { SekishoError } from "../../../contracts/errors.ts";
import { createCachedValue } from "../../shared/async/cache.ts";
import type { WholeResponse } from "../http/exchange.ts";
import type { CardEndpoint } from "./card-endpoint.ts";
import type { Cards } from "./cards.ts";

/** Cards as a host serves them: perhaps later. */
export type ServedCards = {
  endpoint(request: Parameters<CardEndpoint>[0]): WholeResponse | Promise<WholeResponse>;
  extended(request: Parameters<Cards["extended"]>[0]): AgentCard | Promise<AgentCard>;
};

export type LateCards = {
  cards: ServedCards;
  /** Makes them, if they are not made yet. Rejects as `make` does; the next call tries again. */
  ready(): Promise<void>;
};

/**
 * Whoever asks waits for the making, and begins it where nobody has: a function that answered sooner would be frozen before
 * its cards are made. Where they cannot be made the answer is to come again. `make` settles in bounded time.
 */
export function createLateCards({ make }: { make: () => Promise<Cards> }): LateCards {
  const load = async () => ({ value: await make(), keepMs: Number.POSITIVE_INFINITY });
  // Cards do not get old, so no clock is needed.
  const made = createCachedValue({ load, now: () => 0 });
  const readCards = async () => made.get();

  return {
    async ready() {
      await readCards();
    },
    cards: {
      async endpoint(request) {
        const cards = await readCards().catch(() => undefined);
        if (cards !== undefined) return cards.endpoint(request);
        return { status: 503, headers: { "retry-after": "1", "cache-control": "no-store" }, body: "" };
      },
      async extended(request) {
        const cards = await readCards().catch((cause: unknown) => {
          throw new SekishoError("unavailable", { details: { retry_after_ms: 1000 }, cause });
        });
        return cards.extended(request);
      },
    },
  };
}
