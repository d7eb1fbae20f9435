/** `fetch` as the Slack client is given it: with a signal, and with a bound on what is read. */

import { readBody } from "../../../shared/http/read-body.ts";

/** Bounds memory. A page of long messages can exceed it: Slack has 40,000 characters twice, as text and as blocks. */
const maxResponseBytes = 16 * 1024 * 1024;
/** What a 429 without a usable `Retry-After` is taken to ask for. */
const defaultRetryAfterSeconds = "30";

/** The response has more bytes than are read. The request may have been carried out. */
export class ResponseTooLarge extends Error {
  constructor() {
    super("The response is larger than allowed.");
    this.name = "ResponseTooLarge";
  }
}

/**
 * The body is read here, so that the signal and the bound hold for it as well. The client adds a signal of its own only
 * for a time-out that it is not given.
 */
export function boundedFetch({
  signal,
  maxBytes = maxResponseBytes,
}: {
  signal: AbortSignal;
  maxBytes?: number;
}): typeof globalThis.fetch {
  return async (input, init) => {
    const response = await fetch(input, { ...init, signal }).catch((cause: unknown) => {
      // What is no Error of this realm (under a test runner) would reach the client's caller as a text, without its cause.
      throw new Error("The request failed.", { cause });
    });
    const stream = response.body as AsyncIterable<Uint8Array> | null;
    const body = stream && (await readBody({ body: stream, maxBytes }));
    if (body === "too_large") throw new ResponseTooLarge();
    const headers = new Headers({ "content-type": response.headers.get("content-type") ?? "" });
    const retryAfter = response.headers.get("retry-after");
    if (retryAfter !== null && /^\d{1,6}$/.test(retryAfter)) headers.set("retry-after", retryAfter);
    else if (response.status === 429) headers.set("retry-after", defaultRetryAfterSeconds);
    const scopes = response.headers.get("x-oauth-scopes");
    if (scopes !== null) headers.set("x-oauth-scopes", scopes);
    return new Response(body, { status: response.status, headers });
  };
}
