/** What counts as a bearer token. Pure. */

/** Visible ASCII, as a header can carry it: nothing else is ever sent. */
export function isToken(value: unknown): value is string {
  return typeof value === "string" && /^[\x21-\x7e]+$/.test(value);
}
