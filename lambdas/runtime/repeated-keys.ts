/** Finds repeated keys and deep nesting in JSON. Parsers differ on which value of a repeated key counts, and JSON.parse silently takes the last one. */

import { isObject, isTooDeep, maxDepth, maxWalkedLength } from "./untrusted-input.ts";

export type JsonPath = (string | number)[];
type Open = { kind: "object"; keys: Set<string>; key: string } | { kind: "array"; index: number };

const [quote, backslash, comma, space] = [0x22, 0x5c, 0x2c, 0x20];
const [openBracket, closeBracket, openBrace, closeBrace] = [0x5b, 0x5d, 0x7b, 0x7d];

/**
 * Says whether a key is repeated. `value` is what `JSON.parse` made of `json`. A written key is followed by a colon, after its quote or
 * white space, and `value` holds a repeated key once. So if there are as many such colons as keys in `value`, none is repeated. Only
 * otherwise, for example with such a colon inside a string, and for a long text, is it read character by character.
 */
export function hasRepeatedKey({ json, value }: { json: string; value: unknown }): boolean {
  if (json.length <= maxWalkedLength && countKeyColons(json) === countKeys(value)) return false;
  return repeatsKey(json);
}

/** The same, and whether the JSON is nested too deeply: one walk through `value` finds out both. */
export function isAmbiguousOrTooDeep({ json, value }: { json: string; value: unknown }): boolean {
  if (json.length > maxWalkedLength) return isTooDeep(Buffer.from(json)) || repeatsKey(json);
  const keys = countKeys(value);
  return keys === Number.POSITIVE_INFINITY || (countKeyColons(json) !== keys && repeatsKey(json));
}

function repeatsKey(json: string): boolean {
  return findRepeatedKeys(json).next().done === false;
}

function countKeyColons(json: string): number {
  let count = 0;
  for (let at = json.indexOf(":"); at !== -1; at = json.indexOf(":", at + 1)) {
    const unit = json.charCodeAt(at - 1);
    if (unit === quote || unit <= space) count += 1;
  }
  return count;
}

/** Counts the keys of all objects in a value. Returns infinity if it is nested too deeply, because more levels could exhaust the stack. */
function countKeys(value: unknown): number {
  return isObject(value) ? countKeysBelow(value, 0) : 0;
}

/** Calls itself for objects and lists only: most members are neither, and a call for each would double the time. */
function countKeysBelow(value: object, depth: number): number {
  if (depth === maxDepth) return Number.POSITIVE_INFINITY;
  let count = 0;
  if (Array.isArray(value)) {
    for (const member of value) if (isObject(member)) count += countKeysBelow(member, depth + 1);
    return count;
  }
  // Faster than `Object.values`, and the same for an object of JSON.parse.
  for (const key in value) {
    const member: unknown = value[key as keyof typeof value];
    count += isObject(member) ? 1 + countKeysBelow(member, depth + 1) : 1;
  }
  return count;
}

/** Yields the path of each repeated key. `json` must be valid JSON. */
export function* findRepeatedKeys(json: string): Generator<JsonPath, void, undefined> {
  const open: Open[] = [];
  let inner: Open | undefined;
  let awaitsKey = false;
  // Outside of strings, only these characters determine the structure.
  for (let at = 0; at < json.length; at++) {
    const unit = json.charCodeAt(at);
    if (unit === quote) {
      const end = findStringEnd(json, at);
      if (awaitsKey && inner?.kind === "object") {
        inner.key = readKey(json, at, end);
        if (inner.keys.has(inner.key)) yield open.map(toStep);
        inner.keys.add(inner.key);
        awaitsKey = false;
      }
      at = end;
    } else if (unit === openBrace || unit === openBracket) {
      awaitsKey = unit === openBrace;
      inner = awaitsKey
        ? { kind: "object", keys: new Set(), key: "" }
        : { kind: "array", index: 0 };
      open.push(inner);
    } else if (unit === closeBrace || unit === closeBracket) {
      open.pop();
      inner = open.at(-1);
      awaitsKey = false;
    } else if (unit === comma) {
      awaitsKey = inner?.kind === "object";
      if (inner?.kind === "array") inner.index += 1;
    }
  }
}

function readKey(json: string, start: number, end: number): string {
  const key = json.slice(start + 1, end);
  return key.includes("\\") ? JSON.parse(json.slice(start, end + 1)) : key;
}

/** The index of the closing quote. A quote after an odd number of backslashes belongs to the string. */
function findStringEnd(json: string, start: number): number {
  let end = json.indexOf('"', start + 1);
  while (isEscaped(json, end)) end = json.indexOf('"', end + 1);
  return end;
}

function isEscaped(json: string, at: number): boolean {
  let first = at;
  while (json.charCodeAt(first - 1) === backslash) first -= 1;
  return (at - first) % 2 === 1;
}

function toStep(open: Open): string | number {
  return open.kind === "object" ? open.key : open.index;
}
