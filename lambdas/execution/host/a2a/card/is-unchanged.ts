/** Whether a client has the current representation already (RFC 9110, section 13). Pure. */

/** `etag` is a strong one. An entity tag decides over a date, and what cannot be read decides nothing. */
export function isUnchanged({
  etag,
  lastModifiedAtMs,
  ifNoneMatch,
  ifModifiedSince,
}: {
  etag: string;
  lastModifiedAtMs: number;
  ifNoneMatch: string | undefined;
  ifModifiedSince: string | undefined;
}): boolean {
  if (ifNoneMatch !== undefined) {
    if (ifNoneMatch.trim() === "*") return true;
    // The weak comparison: W/ says nothing here.
    return ifNoneMatch.match(/"[^"]*"/g)?.some((tag) => tag === etag) ?? false;
  }
  const sinceMs = Date.parse(ifModifiedSince ?? "");
  // Dates have no fractions of a second.
  return Math.floor(lastModifiedAtMs / 1000) * 1000 <= sinceMs;
}
