/** Parses URLs that somebody else chose: an agent, a peer, or a user. */

/** The Domain Name System allows 253 octets. This leaves room for percent-encoding and for credentials. */
const maxAuthorityLength = 500;

/** The schemes whose host the parser converts to ASCII; with a base, also an address that begins with the host. */
const authorityStart = /^(?:(?:https?|wss?|ftp|file):[/\\]*|[/\\]{2,})/i;

/**
 * Like `URL.parse`, but also null where the host is too long. Converting a Unicode host to ASCII takes time that grows with the square of its
 * length: 5,000 characters block the process for 60 ms.
 */
export function parseUrl(address: string, base?: string): URL | null {
  return hasLongAuthority(address) ? null : URL.parse(address, base);
}

function hasLongAuthority(address: string): boolean {
  if (address.length <= maxAuthorityLength) return false;
  // The parser skips these characters, so they can stand between the letters of the scheme.
  const plain = address.replace(/^[\0- ]+|[\t\n\r]/g, "");
  const [start = ""] = authorityStart.exec(plain) ?? [];
  if (start === "") return false;
  const end = plain.slice(start.length).search(/[/?#\\]/);
  return (end === -1 ? plain.length - start.length : end) > maxAuthorityLength;
}
