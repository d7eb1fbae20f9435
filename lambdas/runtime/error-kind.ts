/** Reduces a thrown value to one word for a log line or a span. Leaves out the message, which may contain text of users. */

/**
 * A code such as ECONNREFUSED or ERR_JWT_EXPIRED, else the error's name, else `Error`; for other values their type. Codes come first,
 * because class names of packages get lost in a minified bundle.
 */
export function errorKind(error: unknown): string {
  // Unlike `instanceof`, this recognizes errors of other realms, and the DOMException of an abort.
  if (readField(error, "stack") === undefined) return typeof error;
  const words = [readField(error, "code"), readField(error, "name")];
  return words.find((word) => isWord(word, /^[A-Z][\w.]{1,79}$/)) ?? "Error";
}

/** The value of a span's `error.type`: the `reason` or `kind` of our own errors, else the same as in the log. */
export function errorType(error: unknown): string {
  const words = [readField(error, "reason"), readField(error, "kind")];
  return words.find((word) => isWord(word, /^[a-z][a-z_]{0,40}$/)) ?? errorKind(error);
}

/** Undefined if the field cannot be read: an agent may throw an object whose getters throw, and its failure must still be stored. */
export function readField(error: unknown, name: string): unknown {
  try {
    return (Object(error) as Record<string, unknown>)[name];
  } catch {
    return undefined;
  }
}

function isWord(value: unknown, form: RegExp): value is string {
  return typeof value === "string" && form.test(value);
}
