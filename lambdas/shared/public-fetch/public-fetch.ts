/** GET of a URL that somebody else chose: only from public addresses, only what was asked for, and only so much of it. */
import { get } from "./get.ts";
import { createReach, type ReachOptions } from "./reach.ts";

/** `timeoutMs` is for all of it: the name, the connection and the last byte. */
export type PublicFetch = (request: {
  url: string;
  maxBytes: number;
  timeoutMs: number;
  signal: AbortSignal;
}) => Promise<Uint8Array>;

/**
 * Names, addresses and time are as `createReach` says. A redirect is not followed.
 *
 * Rejects with a SekishoError: `permission_denied` for a URL or an address that is not for everybody, `payload_too_large`,
 * `invalid_response` for anything but a plain 200, and `unavailable` for what may work another time (no address, no
 * connection, no time, 429, 5xx); or with the signal's reason where the caller gave up.
 */
export function createPublicFetch(options: ReachOptions = {}): PublicFetch {
  const reach = createReach(options);
  return ({ maxBytes, ...request }) => reach({ ...request, work: (target) => get({ ...target, maxBytes }) });
}
