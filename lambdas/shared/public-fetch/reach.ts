/** The way to a URL that somebody else chose: only to public addresses, and only for so long. */

import type { LookupAddress } from "node:dns";
import { lookup } from "node:dns/promises";
import { BlockList, isIP } from "node:net";
import { SekishoError } from "../../../contracts/errors.ts";
import { isLoopbackHost } from "../../../contracts/loopback.ts";
import { createDeadline } from "../async/deadline.ts";
import { abortable } from "../async/waiting.ts";
import { parseUrl } from "../untrusted-input.ts";

/** What may be reached, and until when. */
export type PublicTarget = { url: URL; addresses: readonly LookupAddress[]; signal: AbortSignal };

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
  work: (target: PublicTarget) => Promise<T>;
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
  const url = parseUrl(address);
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
  const deadline = createDeadline({ timeoutMs, signal, reason: new SekishoError("unavailable") });
  try {
    return await abortable({ promise: work(deadline.signal), signal: deadline.signal });
  } finally {
    deadline.end();
  }
}

/** All addresses of a name. */
export type Resolve = (name: string) => Promise<readonly LookupAddress[]>;

/**
 * `hostname` is a URL's, which the parser has brought into its one form: what is an address in any spelling is one here.
 * Rejects with `unavailable` where there is no address, and with `permission_denied` where any is not public.
 */
async function resolveHost({
  hostname,
  resolve,
  allowLoopback,
}: {
  hostname: string;
  resolve: Resolve;
  allowLoopback: boolean;
}): Promise<readonly LookupAddress[]> {
  const bare = hostname.startsWith("[") ? hostname.slice(1, -1) : hostname;
  const family = isIP(bare);
  const addresses = family === 0 ? await lookUp({ name: bare, resolve }) : [{ address: bare, family }];
  if (addresses.length === 0) throw new SekishoError("unavailable");
  const isAllowed = ({ address }: LookupAddress) =>
    isPublicAddress(address) || (allowLoopback && isLoopbackAddress(address));
  if (!addresses.every(isAllowed)) throw new SekishoError("permission_denied");
  return addresses;
}

async function lookUp({ name, resolve }: { name: string; resolve: Resolve }): Promise<readonly LookupAddress[]> {
  try {
    return await resolve(name);
  } catch (cause) {
    throw new SekishoError("unavailable", { cause });
  }
}

/** Of IANA's special-purpose registries what is not for the public, and the platform address that Azure took from its own range. */
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

/** All that is given out to the public; mapped addresses, NAT64, ULA, link-local and multicast lie outside. */
const global6 = subnets("ipv6", ["2000::/3"]);

/** What within it is not for the public, or carries an IPv4 address that nobody would have looked at (Teredo, 6to4). */
const special6 = subnets("ipv6", ["2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"]);

const loopback4 = subnets("ipv4", ["127.0.0.0/8"]);

/** False for whatever is no IP address, too. */
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
