/** Reduces something thrown to one word that a log line or a span may carry: never its message, which may hold anybody's text. */

/**
 * A code such as ECONNREFUSED or ERR_JWT_EXPIRED, else the error's name, else `Error`; the type of what is no error. A code goes first
 * because it survives a minified bundle, where classes of packages have lost their names.
 */
export function errorKind(thrown: unknown): string {
  // Other than `instanceof`, this knows errors of other realms too, and the DOMException of an abort.
  const { code, name, stack } = Object(thrown) as Record<string, unknown>;
  if (stack === undefined) return typeof thrown;
  return [code, name].map(String).find((word) => /^[A-Z][\w.]{1,79}$/.test(word)) ?? "Error";
}

/** The value of a span's `error.type`: the closed `reason` or `kind` of our own errors, else the same as in the log. */
export function errorType(thrown: unknown): string {
  const { reason, kind } = Object(thrown) as Record<string, unknown>;
  const own = [reason, kind].find((word) => typeof word === "string" && /^[a-z][a-z_]{0,40}$/.test(word));
  return typeof own === "string" ? own : errorKind(thrown);
}
