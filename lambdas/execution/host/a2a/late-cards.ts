/** Agent cards that are made when the host already listens: its address may be known no sooner, and their key may have to be read. */
import { SekishoError } from "../../../../contracts/errors.ts";
import type { Cards } from "./cards.ts";

export type LateCards = {
  cards: Cards;
  /** Makes them, if they are not made yet. Rejects as `make` does; the next call tries again. */
  ready(): Promise<void>;
};

/** Whoever asks too early is told to come again, and starts the making where nobody has. */
export function lateCards({ make }: { make: () => Promise<Cards> }): LateCards {
  let made: Cards | undefined;
  let making: Promise<void> | undefined;

  async function ready(): Promise<void> {
    making ??= make().then((cards) => {
      made = cards;
    });
    try {
      await making;
    } catch (thrown) {
      making = undefined;
      throw thrown;
    }
  }

  function start(): void {
    ready().catch(() => {});
  }

  return {
    ready,
    cards: {
      endpoint(request) {
        if (made !== undefined) return made.endpoint(request);
        start();
        return { status: 503, headers: { "retry-after": "1", "cache-control": "no-store" }, body: "" };
      },
      extended(request) {
        if (made !== undefined) return made.extended(request);
        start();
        throw new SekishoError("unavailable", { details: { retry_after_ms: 1000 } });
      },
    },
  };
}
