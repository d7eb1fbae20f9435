/** An agent's card: fetched when it is wanted, kept, and asked for again by its ETag. */

import { type ReadCard, readCardSchema } from "../../../../contracts/a2a/card.ts";
import type { A2aVersion } from "../../../../contracts/a2a/operations.ts";
import { SekishoError } from "../../../../contracts/errors.ts";
import { abortable } from "../../../shared/async/abortable.ts";

import { createCachedCredential } from "../../../shared/async/cached-credential.ts";
import type { AuthorizedSend, HttpResponse } from "../http/send.ts";
import { statusToReason } from "../read-response.ts";
import { fetchCard, freshnessMs } from "./fetch-card.ts";
import { undelivered, unusableCard } from "./interfaces.ts";

/** For the whole fetch, its redirects included. */
const fetchTimeoutMs = 5000;
/** A card that cannot be had again goes on being used for so long: its peer may well be there. */
const staleMs = 6 * 60 * 60_000;
/** Before the next try where one failed. */
const retryAfterMs = 30_000;

export type CardSource = {
  /** Rejects with a SekishoError that is `undelivered`, whatever the failure. */
  current(request: { signal: AbortSignal }): Promise<ReadCard>;
  /** Fetches anew the next time, if the kept one is this one. */
  forget(card: ReadCard): void;
};

/** One fetch for all who ask at the same time. Nothing happens by timers: who asks when its time has come renews it. */
export function createCardSource({
  cardUrl,
  version,
  http,
  now,
  random,
}: {
  cardUrl: URL;
  version: A2aVersion;
  http: AuthorizedSend;
  now: () => number;
  random: () => number;
}): CardSource {
  let latest: { card: ReadCard; etag: string | undefined } | undefined;

  const kept = createCachedCredential<ReadCard>({
    async fetch({ signal }) {
      const response = await fetchCard({ cardUrl, version, etag: latest?.etag, http, signal });
      if (response.status !== 304 || latest === undefined) {
        latest = { card: read(response), etag: response.headers.etag };
      }
      const freshMs = freshnessMs(response.headers["cache-control"]);
      // Renewed up to an eighth later, and used for up to a twentieth less, than it is said here.
      return { credential: latest.card, renewAfterMs: (freshMs * 8) / 9, lifetimeMs: (freshMs + staleMs) / 0.95 };
    },
    timeoutMs: fetchTimeoutMs,
    retryAfterMs,
    now,
    random,
  });

  return {
    async current({ signal }) {
      try {
        signal.throwIfAborted();
        const card = kept.current();
        return card instanceof Promise ? await abortable({ promise: card, signal }) : card;
      } catch (thrown) {
        throw undelivered(thrown);
      }
    },
    forget: (card) => kept.forget((known) => known === card),
  };
}

const strictUtf8 = new TextDecoder("utf-8", { fatal: true });

function read({ status, retryAfterMs: retry_after_ms, body }: HttpResponse): ReadCard {
  if (status < 200 || status >= 300) {
    const cause = Object.assign(new Error("the card is not given"), { status });
    throw new SekishoError(statusToReason(status), {
      details: retry_after_ms === undefined ? {} : { retry_after_ms },
      cause,
    });
  }
  const card = readCardSchema.safeParse(parse(body)).data;
  if (card === undefined) throw unusableCard("what is at the card's URL is no agent card");
  return card;
}

function parse(body: Uint8Array): unknown {
  try {
    return JSON.parse(strictUtf8.decode(body));
  } catch {
    return undefined;
  }
}
