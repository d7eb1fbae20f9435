/** Reaches a URL that somebody else chose: only at public addresses, and only for a limited time. */

import type { LookupAddress } from "node:dns";
import { lookup } from "node:dns/promises";
import { BlockList, isIP } from "node:net";
import { SekishoError } from "@sekisho/contracts/errors.ts";
import { isSecureUrl } from "@sekisho/contracts/loopback.ts";
import { createDeadline } from "../async/deadline.ts";
import { abortable } from "../async/waiting.ts";
import { findTunnel } from "../http/tunnel.ts";
import { parseUrl } from "../untrusted-input.ts";

/** A URL that may be fetched, its checked addresses, and the signal that ends the fetch. */
export type PublicTarget = { url: URL; addresses: readonly LookupAddress[]; signal: AbortSignal };

export type ReachOptions = {
  resolve?: Resolve;
  /** For tests and runs on one machine: loopback addresses count as public, also with http. */
  allowLoopback?: boolean;
};

/** `timeoutMs` limits everything: the look-up, the connection and the work. */
type Reach = <T>(request: {
  url: string;
  timeoutMs: number;
  signal: AbortSignal;
  work: (target: PublicTarget) => Promise<T>;
}) => Promise<T>;

/**
 * Resolves the name once and requires that all its addresses are public. `work` must connect to one of these addresses, so that a
 * later change of the name has no effect. A proxy resolves the name again: then only the certificate of the peer shows that it is no other
 * one, so private hosts that have a trusted certificate must be forbidden in the proxy itself.
 *
 * Rejects as `work` does, with the signal's reason, or with a SekishoError: `permission_denied` for a forbidden URL or address, and
 * `unavailable` if there is no address or no time left. Only in the latter case is its cause a `TimeoutError`.
 */
export function createReach(options: ReachOptions): Reach {
  const { resolve = (name) => lookup(name, { all: true }), allowLoopback = false } = options;
  return async ({ url: address, timeoutMs, signal, work }) => {
    const url = checkedUrl(address);
    return runUntilStopped({
      timeoutMs,
      signal,
      async work(stop) {
        const addresses = await resolveHost({ url, resolve, allowLoopback });
        stop.throwIfAborted();
        return work({ url, addresses, signal: stop });
      },
    });
  };
}

/** Allows https, and http for loopback, whose addresses are checked later. Every port of a public address is allowed. */
function checkedUrl(address: string): URL {
  const url = parseUrl(address);
  if (url === null || !isSecureUrl(url)) throw new SekishoError("permission_denied");
  if (url.username !== "" || url.password !== "") throw new SekishoError("permission_denied");
  return url;
}

/** Also stops waiting for work that cannot be stopped, such as the look-up of a name. */
async function runUntilStopped<T>(request: {
  timeoutMs: number;
  signal: AbortSignal;
  work: (stop: AbortSignal) => Promise<T>;
}): Promise<T> {
  const { timeoutMs, signal, work } = request;
  signal.throwIfAborted();
  const cause = new DOMException("It took too long.", "TimeoutError");
  const deadline = createDeadline({
    timeoutMs,
    signal,
    reason: new SekishoError("unavailable", { cause }),
  });
  try {
    return await abortable({ promise: work(deadline.signal), signal: deadline.signal });
  } finally {
    deadline.end();
  }
}

/** All addresses of a name. */
export type Resolve = (name: string) => Promise<readonly LookupAddress[]>;

/**
 * The URL parser has normalized every spelling of an address. Rejects with `unavailable` if there is no address, and with
 * `permission_denied` if any of them is not public. Behind a proxy, a name that only the proxy can resolve has no addresses here, and is
 * allowed unless it is one of a private network.
 */
async function resolveHost(request: {
  url: URL;
  resolve: Resolve;
  allowLoopback: boolean;
}): Promise<readonly LookupAddress[]> {
  const { url, resolve, allowLoopback } = request;
  const { hostname } = url;
  const bare = hostname.startsWith("[") ? hostname.slice(1, -1) : hostname;
  const family = isIP(bare);
  const addresses =
    family === 0 ? await lookUp({ name: bare, resolve, url }) : [{ address: bare, family }];
  const isAllowed = ({ address }: LookupAddress) =>
    isPublicAddress(address) || (allowLoopback && isLoopbackAddress(address));
  if (!addresses.every(isAllowed)) throw new SekishoError("permission_denied");
  return addresses;
}

async function lookUp(request: {
  name: string;
  resolve: Resolve;
  url: URL;
}): Promise<readonly LookupAddress[]> {
  const { name, resolve, url } = request;
  let failure: { cause?: unknown } = {};
  const addresses = await resolve(name).catch((cause: unknown) => {
    failure = { cause };
    return [];
  });
  if (addresses.length > 0) return addresses;
  if (findTunnel(url) === undefined) throw new SekishoError("unavailable", failure);
  if (!isPublicHost(name)) throw new SekishoError("permission_denied");
  return [];
}

/** Addresses that are not public, from IANA's special-purpose registries, and the platform address from Azure's own range. */
const special4 = subnets("ipv4", [
  "0.0.0.0/8",
  "10.0.0.0/8",
  "100.64.0.0/10",
  "127.0.0.0/8",
  "168.63.129.16/32",
  "169.254.0.0/16",
  "172.16.0.0/12",
  "192.0.0.0/24",
  "192.0.2.0/24",
  "192.88.99.0/24",
  "192.168.0.0/16",
  "198.18.0.0/15",
  "198.51.100.0/24",
  "203.0.113.0/24",
  "224.0.0.0/4",
  "240.0.0.0/4",
]);

/** The public range. Mapped addresses, NAT64, ULA, link-local and multicast addresses are outside of it. */
const global6 = subnets("ipv6", ["2000::/3"]);

/** Addresses within it that are not public, or that carry an unchecked IPv4 address (Teredo, 6to4). */
const special6 = subnets("ipv6", ["2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"]);

const loopback4 = subnets("ipv4", ["127.0.0.0/8"]);

/** Also false for anything but an IP address. */
export function isPublicAddress(address: string): boolean {
  const family = isIP(address);
  if (family === 4) return !special4.check(address, "ipv4");
  return family === 6 && global6.check(address, "ipv6") && !special6.check(address, "ipv6");
}

export function isLoopbackAddress(address: string): boolean {
  return address === "::1" || (isIP(address) === 4 && loopback4.check(address, "ipv4"));
}

function subnets(family: "ipv4" | "ipv6", ranges: readonly string[]): BlockList {
  const list = new BlockList();
  for (const range of ranges) {
    const [net = "", prefix] = range.split("/");
    list.addSubnet(net, Number(prefix), family);
  }
  return list;
}

/** Names that no public DNS has: special-use names, and those of private zones of clouds. */
const privateNames = /\.(?:internal|local|localhost|lan|home|corp|intranet|private)\.?$/i;

/** True unless the host is an address of a private network, or a name that no public DNS has. `hostname` is that of a URL. */
export function isPublicHost(hostname: string): boolean {
  const host = hostname.replace(/^\[|\]$/g, "");
  return isIP(host) === 0 ? host.includes(".") && !privateNames.test(host) : isPublicAddress(host);
}
