/** What kind of failure something thrown is, in one word that a span may carry: never its message. */

/** Our own errors have a closed `reason` or `kind`; of others a code such as ECONNREFUSED, or the class. */
export function errorKindOf(thrown: unknown): string {
  const { reason, kind, code, name } = Object(thrown) as Record<string, unknown>;
  for (const word of [reason, kind]) if (typeof word === "string" && /^[a-z][a-z_]{0,40}$/.test(word)) return word;
  if (typeof code === "string" && /^[A-Z][A-Z0-9_]{0,60}$/.test(code)) return code;
  return typeof name === "string" && /^[A-Za-z]{1,40}$/.test(name) ? name : "_OTHER";
}
