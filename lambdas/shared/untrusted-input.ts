/** Safe handling of what somebody else wrote: characters that act instead of showing something, JSON that is nested too deep, and URLs. */

const bidi = "\\u061c\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u206f";
const acting = new RegExp(`[\\p{Cc}\\p{Zl}\\p{Zp}${bidi}\\ufeff\\ufff9-\\ufffb]`, "gu");
const actingInLines = new RegExp(`(?![\\t\\n]|\\r\\n)${acting.source}`, "gu");
/** A carriage return alone lets a terminal write over its line. */
const oddLineEnds = /\r(?!\n)|[\u2028\u2029]/g;

/** Without any of them. For what stands in one line: a name, a label, a title. */
export function sanitizeLine(text: string): string {
  return text.replaceAll(acting, "");
}

/** Tabs and line ends stay. For what may have several lines: an answer, a question, progress. */
export function sanitizeLines(text: string): string {
  return text.replaceAll(oddLineEnds, "\n").replaceAll(actingInLines, "");
}

/** Written as `\u` and four digits. JSON in which they stood means the same afterwards, whatever its layout. */
export function escapeActiveCharacters(text: string): string {
  return text.replaceAll(actingInLines, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** For `JSON.stringify`: each text in it as `sanitizeLines` leaves it. */
export function sanitizeJsonValue(_key: string, value: unknown): unknown {
  return typeof value === "string" ? sanitizeLines(value) : value;
}

/** Far more than anybody writes, far less than any stack takes. */
const maxDepth = 100;

const quote = 0x22;
const backslash = 0x5c;

/** `json` is well-formed: in anything else the count says nothing. */
export function isTooDeep(json: Uint8Array): boolean {
  // Every level has a beginning and an end.
  if (json.length <= 2 * maxDepth) return false;
  let depth = 0;
  let isText = false;
  for (let at = 0; at < json.length; at++) {
    const byte = json[at];
    if (isText) {
      if (byte === backslash) at += 1;
      else if (byte === quote) isText = false;
    } else if (byte === quote) isText = true;
    else if (byte === 0x5b || byte === 0x7b) {
      depth += 1;
      if (depth > maxDepth) return true;
    } else if (byte === 0x5d || byte === 0x7d) depth -= 1;
  }
  return false;
}

/** The same of a value that `JSON.parse` gave. It takes no stack, however deep the value is. */
export function isNestedTooDeep(value: unknown): boolean {
  let level = [value].filter(isObject);
  for (let depth = 0; level.length > 0; depth++) {
    if (depth === maxDepth) return true;
    level = level.flatMap((each) => Object.values(each).filter(isObject));
  }
  return false;
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

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
