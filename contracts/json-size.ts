/** Tells whether a value fits into a limit as JSON. Most values are far below it, so they need not be written to find out. */

/** The most bytes of one UTF-16 unit: `\u001f`, or half a surrogate pair. */
const maxUnitBytes = 6;
/** More than the longest number, `-2.2250738585072014e-308`, or a date takes, with a comma. */
const maxPlainBytes = 32;

/** `value` must be JSON that is not deeply nested. Exact: near the limit, the JSON is written and counted in bytes of UTF-8. */
export function isJsonWithin({ value, maxBytes }: { value: unknown; maxBytes: number }): boolean {
  return (
    takeBytes(value, maxBytes) >= 0 ||
    new TextEncoder().encode(JSON.stringify(value)).byteLength <= maxBytes
  );
}

/** Subtracts the most bytes that the value can take. The result is negative if the value may not fit. */
function takeBytes(value: unknown, bytes: number): number {
  if (typeof value === "string") return bytes - maxUnitBytes * value.length - 3;
  let bytesLeft = bytes - maxPlainBytes;
  if (typeof value !== "object" || value === null || bytesLeft < 0) return bytesLeft;
  if (Array.isArray(value)) {
    for (const item of value) bytesLeft = takeBytes(item, bytesLeft);
    return bytesLeft;
  }
  // An object may write itself in its own way.
  if ("toJSON" in value) return -1;
  for (const name in value) {
    const member: unknown = value[name as keyof typeof value];
    bytesLeft -= maxUnitBytes * name.length + 4;
    // Most members are texts: a call for each would be most of the time.
    if (typeof member === "string") bytesLeft -= maxUnitBytes * member.length + 3;
    else bytesLeft = takeBytes(member, bytesLeft);
  }
  return bytesLeft;
}
