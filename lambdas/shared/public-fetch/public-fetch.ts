/** GET of a URL that somebody else chose: only from public addresses, only what was asked for, and only so much of it. */
import { lookup } from "node:dns/promises";
import { SekishoError } from "../../../contracts/errors.ts";
import { isLoopbackHost } from "../../../contracts/methods.ts";
import { get } from "./get.ts";
import { type Resolve, resolveHost } from "./resolve-host.ts";

/** `timeoutMs` is for all of it: the name, the connection and the last byte. */
export type PublicFetch = (request: {
  url: string;
  maxBytes: number;
  timeoutMs: number;
  signal: AbortSignal;
}) => Promise<Uint8Array>;

/**
 * The name is resolved once, every address of it must be public, and the connection goes to one of those addresses: a name
 * that means something else a moment later changes nothing. A redirect is not followed.
 *
 * Rejects with a SekishoError: `permission_denied` for a URL or an address that is not for everybody, `payload_too_large`,
 * `invalid_response` for anything but a plain 200, and `unavailable` for what may work another time (no address, no
 * connection, no time, 429, 5xx); or with the signal's reason where the caller gave up.
 */
export function createPublicFetch({
  resolve = (name) => lookup(name, { all: true }),
  allowLoopback = false,
}: {
  resolve?: Resolve;
  /** For tests and runs on one machine: loopback addresses count as public, and http is fine for them. */
  allowLoopback?: boolean;
} = {}): PublicFetch {
  return async ({ url: address, maxBytes, timeoutMs, signal }) => {
    const url = checkedUrl(address);
    return untilStopped({
      timeoutMs,
      signal,
      async work(stop) {
        const addresses = await resolveHost({ hostname: url.hostname, resolve, allowLoopback });
        stop.throwIfAborted();
        return get({ url, addresses, maxBytes, signal: stop });
      },
    });
  };
}

/** https, and http for loopback, whose addresses are another matter. Ports are as given: all of a public address are public. */
function checkedUrl(address: string): URL {
  const url = URL.parse(address);
  const isPlain = url?.protocol === "http:" && isLoopbackHost(url.hostname);
  if (url === null || !(url.protocol === "https:" || isPlain)) throw new SekishoError("permission_denied");
  if (url.username !== "" || url.password !== "") throw new SekishoError("permission_denied");
  return url;
}

/** Also what cannot be stopped, as the look-up of a name, is not waited for any longer. */
async function untilStopped<T>({
  timeoutMs,
  signal,
  work,
}: {
  timeoutMs: number;
  signal: AbortSignal;
  work: (stop: AbortSignal) => Promise<T>;
}): Promise<T> {
  signal.throwIfAborted();
  const controller = new AbortController();
  const { promise: stopped, reject } = Promise.withResolvers<never>();
  const stop = (reason: unknown) => {
    reject(reason);
    controller.abort(reason);
  };
  const giveUp = () => stop(signal.reason);
  const timer = setTimeout(() => stop(new SekishoError("unavailable")), timeoutMs);
  signal.addEventListener("abort", giveUp);
  try {
    return await Promise.race([stopped, work(controller.signal)]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", giveUp);
  }
}
