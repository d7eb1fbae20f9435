/** How deep JSON may be nested: what is deeper cannot be written again by every process that reads it, since writing takes a stack. */

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
