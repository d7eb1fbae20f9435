/** Handles untrusted input safely: JSON, also if it is deeply nested, invisible control characters, and URLs. */

const strictUtf8 = new TextDecoder("utf-8", { fatal: true });

/** Returns undefined for anything but JSON. Bytes must be UTF-8. */
export function parseJson(json: string | Uint8Array): unknown {
  try {
    return JSON.parse(typeof json === "string" ? json : strictUtf8.decode(json));
  } catch {
    return undefined;
  }
}

/** True for an object that is not a list. */
export function isJsonObject(value: unknown): value is Record<string, unknown> {
  return isObject(value) && !Array.isArray(value);
}

/** Keeps only the last of several entries with one id. */
export function lastOfEachId<T extends { id: string }>(entries: readonly T[]): T[] {
  return [...new Map(entries.map((entry) => [entry.id, entry])).values()];
}

/** Returns the members with these names. Does not visit the others, because a peer may send a hundred thousand. */
export function pickMembers(
  value: Readonly<Record<string, unknown>>,
  names: readonly string[],
): Record<string, unknown> {
  return Object.fromEntries(
    names.flatMap((name) => (Object.hasOwn(value, name) ? [[name, value[name]]] : [])),
  );
}

export function dropUndefined<T extends object>(
  members: T,
): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(
    Object.entries(members).filter(([, value]) => value !== undefined),
  ) as never;
}

/** Half a surrogate pair as JSON writes it. The same letters after a backslash that is text also match, which does no harm. */
const halfCharacter = /\\u[dD][89a-fA-F]/;
/** A pair as two escapes, half a pair, or any other escape. Matches each escape as a whole, so that none begins within another one. */
const escapes =
  /\\(?:u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|u[dD][89a-fA-F][\da-fA-F]{2}|.)/gs;
const halfLength = "\\ud800".length;

/** Replaces halves of surrogate pairs in JSON text by U+FFFD, in texts and keys, so that the parsed value need not be walked. */
export function repairHalfCharacters(json: string): string {
  // Most JSON has no such escape at all, which a search for two characters finds out in a fifth of the time.
  if (!json.includes("\\u") || !halfCharacter.test(json)) return json;
  return json.replaceAll(escapes, (escapeText) =>
    escapeText.length === halfLength ? "\\ufffd" : escapeText,
  );
}

/** Like `JSON.stringify`, but without lone surrogates. */
export function toWellFormedJson(value: unknown): string {
  return repairHalfCharacters(JSON.stringify(value));
}

const bidi = "\\u061c\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u206f";
const acting = new RegExp(`[\\p{Cc}\\p{Zl}\\p{Zp}${bidi}\\ufeff\\ufff9-\\ufffb]`, "gu");
const actingInLines = new RegExp(`(?![\\t\\n]|\\r\\n)${acting.source}`, "gu");
/** The line ends of Unicode (UAX 14, class BK, CR and NL). A single carriage return would let a terminal overwrite its line. */
const oddLineEnds = /\r(?!\n)|[\v\f\u0085\u2028\u2029]/g;

/** Removes control characters from a text of one line, such as a name or a title. */
export function sanitizeLine(text: string): string {
  return text.replaceAll(acting, "");
}

/** Removes control characters, except for tabs and line ends, from a text such as an answer or a question. */
export function sanitizeLines(text: string): string {
  return text.replaceAll(oddLineEnds, "\n").replaceAll(actingInLines, "");
}

/** Writes control characters as `\u` and four digits. JSON keeps its meaning, whatever its layout. */
export function escapeActiveCharacters(text: string): string {
  return text.replaceAll(
    actingInLines,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** A replacer for `JSON.stringify` that applies `sanitizeLines` to every text. */
export function sanitizeJsonValue(_key: string, value: unknown): unknown {
  return typeof value === "string" ? sanitizeLines(value) : value;
}

/** Levels of JSON: far more than people write, and far less than the stack allows. */
export const maxDepth = 100;

const quote = 0x22;
const backslash = 0x5c;

/**
 * Up to this length of JSON, its value is walked, which is faster than reading the text. A longer one may have so many members that a walk
 * would block the process.
 */
export const maxWalkedLength = 16_384;

/** `json` must be well-formed. */
export function isTooDeep(json: Uint8Array): boolean {
  // Each level takes at least two bytes.
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

/** The same for a parsed value. Its own depth is limited, so no value can exhaust the stack. */
export function isNestedTooDeep(value: unknown, depth = 0): boolean {
  if (!isObject(value)) return false;
  if (depth === maxDepth) return true;
  if (Array.isArray(value)) return value.some((member) => isNestedTooDeep(member, depth + 1));
  // Faster than `Object.values`, and the same for an object of JSON.parse.
  for (const key in value)
    if (isNestedTooDeep((value as Record<string, unknown>)[key], depth + 1)) return true;
  return false;
}

/** True for an object or a list. */
export function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

/** Returns at most `maxLength` UTF-16 units, without half a surrogate pair at the end, which readers of JSON may refuse. */
export function truncate(text: string, maxLength: number): string {
  return text.slice(0, maxLength).replace(/[\uD800-\uDBFF]$/, "");
}

/** A DNS name has at most 253 octets. The rest leaves room for percent-encoding and credentials. */
const maxAuthorityLength = 500;

/** The schemes whose host the parser converts to ASCII. With a base, an address may also begin with the host. */
const authorityStart = /^(?:(?:https?|wss?|ftp|file):[/\\]*|[/\\]{2,})/i;

/**
 * Like `URL.parse`, but also returns null if the host is too long. Converting a Unicode host to ASCII takes quadratic time: 5,000
 * characters block the process for 60 ms.
 */
export function parseUrl(address: string, base?: string): URL | null {
  return hasLongAuthority(address) ? null : URL.parse(address, base);
}

function hasLongAuthority(address: string): boolean {
  if (address.length <= maxAuthorityLength) return false;
  // The parser ignores these characters, even between the letters of the scheme.
  const plain = address.replace(/^[\0- ]+|[\t\n\r]/g, "");
  const [start = ""] = authorityStart.exec(plain) ?? [];
  if (start === "") return false;
  const end = plain.slice(start.length).search(/[/?#\\]/);
  return (end === -1 ? plain.length - start.length : end) > maxAuthorityLength;
}
