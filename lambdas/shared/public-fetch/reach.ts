/** The way to a URL that somebody else chose: only to public addresses, and only for so long. */
import { lookup } from "node:dns/promises";
import { SekishoError } from "../../../contracts/errors.ts";
import { isLoopbackHost } from "../../../contracts/methods.ts";
import type { Target } from "./request-once.ts";
import { type Resolve, resolveHost } from "./resolve-host.ts";

export type ReachOptions = {
  resolve?: Resolve;
  /** For tests and runs on one machine: loopback addresses count as public, and http is fine for them. */
  allowLoopback?: boolean;
};

/** `timeoutMs` is for all of it: the name, the connection and the work. */
type Reach = <T>(request: {
  url: string;
  timeoutMs: number;
  signal: AbortSignal;
  work: (target: Target) => Promise<T>;
}) => Promise<T>;

/**
 * The name is resolved once, every address of it must be public, and `work` is to connect to one of those addresses: a name
 * that means something else a moment later changes nothing.
 *
 * Rejects as `work` does, or with a SekishoError: `permission_denied` for a URL or an address that is not for everybody, and
 * `unavailable` where there is no address or no time left; or with the signal's reason where the caller gave up.
 */
export function createReach({
  resolve = (name) => lookup(name, { all: true }),
  allowLoopback = false,
}: ReachOptions): Reach {
  return async ({ url: address, timeoutMs, signal, work }) => {
    const url = checkedUrl(address);
    return untilStopped({
      timeoutMs,
      signal,
      async work(stop) {
        const addresses = await resolveHost({ hostname: url.hostname, resolve, allowLoopback });
        stop.throwIfAborted();
        return work({ url, addresses, signal: stop });
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
