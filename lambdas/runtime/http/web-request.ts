/** Requests as web handlers get them, made on this side of a connection. */

/**
 * Creates a Request whose `signal` is the given one. The copy that a Request makes is no longer aborted after the Request itself was
 * collected as garbage (Node 24), so that a handler which keeps only the signal would wait for ever.
 */
export function createWebRequest(
  url: string | URL,
  init: RequestInit & { signal: AbortSignal },
): Request {
  const { signal, ...rest } = init;
  return Object.defineProperty(new Request(url, rest), "signal", { value: signal });
}
