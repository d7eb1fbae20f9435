/** Reduces a thrown value to one word for a log line or a span. Leaves out the message, which may contain anyone's text. */

/**
 * A code such as ECONNREFUSED or ERR_JWT_EXPIRED, else the error's name, else `Error`; for other values their type. Codes come first,
 * because class names of packages get lost in a minified bundle.
 */
export function errorKind(thrown: unknown): string {
  // Unlike `instanceof`, this recognizes errors of other realms, and the DOMException of an abort.
  const { code, name, stack } = Object(thrown) as Record<string, unknown>;
  if (stack === undefined) return typeof thrown;
  return [code, name].map(String).find((word) => /^[A-Z][\w.]{1,79}$/.test(word)) ?? "Error";
}

/** The value of a span's `error.type`: the `reason` or `kind` of our own errors, else the same as in the log. */
export function errorType(thrown: unknown): string {
  const { reason, kind } = Object(thrown) as Record<string, unknown>;
  const own = [reason, kind].find((word) => typeof word === "string" && /^[a-z][a-z_]{0,40}$/.test(word));
  return typeof own === "string" ? own : errorKind(thrown);
}
