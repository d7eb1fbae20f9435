/** Which addresses belong to the public internet, and not to a machine, a network or a platform of one's own. */
import { BlockList, isIP } from "node:net";

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
