/**
 * Fetches an agent's card, caches it, and revalidates it with its ETag. Redirects are followed within the card's origin only, because
 * credentials must not go anywhere else.
 */
import { agentCardPath, type ReadCard, readCardSchema } from "@sekisho/contracts/a2a/card.ts";
import type { A2aVersion } from "@sekisho/contracts/a2a/operations.ts";
import { SekishoError } from "@sekisho/contracts/errors.ts";
import { createCachedCredential } from "@sekisho/runtime/async/cached-credential.ts";
import { abortable } from "@sekisho/runtime/async/waiting.ts";
import { parseCheckedUrl } from "@sekisho/runtime/auth/authorizer.ts";
import { parseJson, parseUrl } from "@sekisho/runtime/untrusted-input.ts";
import { type A2aCarrier, type CardRequest, type CardResponse, maxCardBytes } from "../carrier.ts";
import type { AuthorizedSend } from "../http/transport.ts";
import { statusToReason } from "../response-error.ts";
import { type CheckResponseHead, checkResponseHead, isRedirection } from "../response-head.ts";
import { createCardError, foreignText } from "./card-problem.ts";
import { toUndeliveredError } from "./interfaces.ts";

/** How long a card stays in use if it cannot be fetched again. Its agent may still be reachable. */
const staleMs = 6 * 60 * 60_000;
/** The delay after a failed fetch. */
const retryAfterMs = 30_000;

export type CardSource = {
  /** Every rejection is an `undelivered` SekishoError. */
  current(request: Pick<CardRequest, "sessionId" | "signal">): Promise<ReadCard>;
  /** Drops the cached card if it is this one. */
  forget(card: ReadCard): void;
};

/** Callers share one fetch. There are no timers: the first caller after the card's expiry renews it. */
export function createCardSource(options: {
  carrier: A2aCarrier;
  version: A2aVersion;
  now: () => number;
  random: () => number;
}): CardSource {
  const { carrier, version, now, random } = options;
  let latestSessionId = "";
  let latestResponse: { card: ReadCard; etag: string | undefined } | undefined;

  const cache = createCachedCredential<ReadCard>({
    async fetch({ signal }) {
      const response = await carrier.readCard({
        version,
        etag: latestResponse?.etag,
        sessionId: latestSessionId,
        signal,
      });
      if (response.status !== 304 || latestResponse === undefined) {
        latestResponse = { card: readCard(response), etag: response.headers.etag };
      }
      const freshMs = freshnessMs(response.headers["cache-control"]);
      // The cache adds jitter: it renews up to an eighth later, and expires up to a twentieth earlier.
      return {
        credential: latestResponse.card,
        renewAfterMs: (freshMs * 8) / 9,
        lifetimeMs: (freshMs + staleMs) / 0.95,
      };
    },
    timeoutMs: carrier.cardTimeoutMs,
    retryAfterMs,
    now,
    random,
  });

  return {
    async current({ sessionId, signal }) {
      try {
        signal.throwIfAborted();
        latestSessionId = sessionId;
        const card = cache.current();
        return card instanceof Promise ? await abortable({ promise: card, signal }) : card;
      } catch (error) {
        throw toUndeliveredError(error);
      }
    },
    forget: (card) => cache.forget((cachedCard) => cachedCard === card),
  };
}

function readCard({ status, retryAfterMs: retry_after_ms, body }: CardResponse): ReadCard {
  if (status < 200 || status >= 300) throw createStatusError(status, retry_after_ms);
  const json = parseJson(body);
  if (json === undefined) {
    const isPage = /^\s*</.test(Buffer.from(body.subarray(0, 100)).toString());
    throw isPage ? createPageError() : createNotJsonError();
  }
  const card = readCardSchema.safeParse(json).data;
  if (card === undefined) throw createCardError("CardIsForeign", foreignText);
  return card;
}

const usualPaths = `Most agents have it at ${agentCardPath}, older ones at /.well-known/agent.json.`;

function createStatusError(status: number, retry_after_ms: number | undefined): SekishoError {
  if (status === 404 || status === 405 || status === 410) {
    return createCardError(
      "CardNotFound",
      `There is no agent card at its address (HTTP ${status}). ${usualPaths}`,
    );
  }
  const reason = statusToReason(status);
  if (reason === "invalid_response" || reason === "payload_too_large") {
    const message = `The card's address answers HTTP ${status} instead of an agent card. Check the address, and the agent's log.`;
    return createCardError("CardRefused", message);
  }
  const cause = Object.assign(new Error("the card's URL returned an error"), { status });
  return new SekishoError(reason, {
    details: retry_after_ms === undefined ? {} : { retry_after_ms },
    cause,
  });
}

function createPageError(): SekishoError {
  const message = `The card's address returns a web page instead of an agent card. Check the address, and whether a login page is in front of it. ${usualPaths}`;
  return createCardError("CardIsHtml", message);
}

function createNotJsonError(): SekishoError {
  const message =
    "The card's address returns something that is not JSON in UTF-8, uncompressed. Check the address, or ask the agent's maker to mend its card.";
  return createCardError("CardIsNotJson", message);
}

function createRedirectError(why: string): SekishoError {
  return createCardError(
    "CardRedirects",
    `The card's address redirects ${why}. Set card to the final address.`,
  );
}

const maxRedirects = 3;

/** Resolves to any status except a redirect. Resolves to 304 only if `etag` was sent. */
export async function fetchCard(
  options: Omit<CardRequest, "sessionId"> & { cardUrl: URL; http: AuthorizedSend },
): Promise<CardResponse> {
  const { cardUrl, version, etag, http, signal } = options;
  const headers = {
    accept: "application/json",
    "a2a-version": version,
    ...(etag === undefined ? {} : { "if-none-match": etag }),
  };
  let url = cardUrl;
  for (let redirects = 0; redirects <= maxRedirects; redirects += 1) {
    const request = {
      url,
      headers,
      body: new Uint8Array(),
      signal,
      maxResponseBytes: maxCardBytes,
      refuse,
    };
    const response = await http.send({ method: "GET", ...request });
    if (!isRedirection(response.status)) return response;
    if (response.status === 304 && etag !== undefined) return response;
    url = resolveRedirect({ from: url, location: response.headers.location });
  }
  throw createRedirectError("too often");
}

const refuse: CheckResponseHead = (head) => {
  if (isRedirection(head.status)) return undefined;
  const refusal = checkResponseHead(head);
  if (refusal?.reason !== "invalid_response") return refusal;
  return /html/i.test(head.headers["content-type"] ?? "")
    ? createPageError()
    : createNotJsonError();
};

function resolveRedirect({ from, location }: { from: URL; location: string | undefined }): URL {
  const to = location === undefined ? null : parseUrl(location, from.href);
  if (to === null) throw createRedirectError("to nowhere");
  if (to.origin !== from.origin) throw createRedirectError("to another origin");
  try {
    return parseCheckedUrl(to.href);
  } catch {
    throw createRedirectError("to an address with credentials");
  }
}

const minFreshMs = 60_000;
const maxFreshMs = 60 * 60_000;
const defaultFreshMs = 5 * 60_000;

/**
 * Returns how long a card may be used without revalidation (RFC 9111, section 5.2.2). `Cache-Control` counts within one minute and one
 * hour. The default is five minutes.
 */
export function freshnessMs(cacheControl: string | undefined): number {
  const words = (cacheControl ?? "")
    .toLowerCase()
    .split(",")
    .map((word) => word.trim());
  if (words.includes("no-store") || words.includes("no-cache")) return minFreshMs;
  const seconds = words.flatMap((word) => /^max-age="?(\d{1,10})"?$/.exec(word)?.[1] ?? [])[0];
  if (seconds === undefined) return defaultFreshMs;
  return Math.min(Math.max(Number(seconds) * 1000, minFreshMs), maxFreshMs);
}
