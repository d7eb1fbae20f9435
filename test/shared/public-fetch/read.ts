/** A guarded fetch as tests call it: with limits that are not what they are about. */
import type { PublicFetch } from "../../../lambdas/shared/public-fetch/public-fetch.ts";

export function read(
  fetch: PublicFetch,
  {
    url,
    maxBytes = 4096,
    timeoutMs = 5000,
    signal = new AbortController().signal,
  }: { url: string; maxBytes?: number; timeoutMs?: number; signal?: AbortSignal },
): Promise<Uint8Array> {
  return fetch({ url, maxBytes, timeoutMs, signal });
}
