/** Encodes the arguments of a Web API call for Slack's forms. Pure. */

/**
 * Objects become JSON, as the client would make them. Strings become well-formed: half a surrogate pair turns into U+FFFD,
 * because the client's form encoding throws on it. Throws on a value that JSON cannot hold (a cycle, a BigInt).
 */
export function encodeArgs(args: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(args).map(([name, value]) => [name, encode(value)]));
}

function encode(value: unknown): unknown {
  if (typeof value === "string") return value.toWellFormed();
  if (typeof value !== "object" || value === null) return value;
  return JSON.stringify(value, (_name, member: unknown) =>
    typeof member === "string" ? member.toWellFormed() : member,
  );
}
