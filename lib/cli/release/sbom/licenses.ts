/** The licenses under which a package may be part of what is delivered; docs/dependencies.md names the same ones. */

/** By their SPDX names. All allow to use, to change and to pass on, also as a part of what is not open. */
export const allowedLicenses: readonly string[] = ["0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT"];

/**
 * Whether an SPDX expression can be kept with allowed licenses alone: of `OR` one side is enough, of `AND` both are needed.
 * `AND` binds closer. What is no such expression is not allowed.
 */
export function isAllowed(expression: string): boolean {
  const words = expression.match(/\(|\)|[^\s()]+/g) ?? [];
  const result = either(words);
  return result !== undefined && result.rest.length === 0 && result.allowed;
}

type Read = { allowed: boolean; rest: readonly string[] } | undefined;

function either(words: readonly string[]): Read {
  return readJoined({ words, operator: "OR", part: all, join: (a, b) => a || b });
}

function all(words: readonly string[]): Read {
  return readJoined({ words, operator: "AND", part: one, join: (a, b) => a && b });
}

function readJoined({
  words,
  operator,
  part,
  join,
}: {
  words: readonly string[];
  operator: string;
  part: (words: readonly string[]) => Read;
  join: (a: boolean, b: boolean) => boolean;
}): Read {
  let read = part(words);
  while (read !== undefined && read.rest[0] === operator) {
    const next = part(read.rest.slice(1));
    if (next === undefined) return undefined;
    read = { allowed: join(read.allowed, next.allowed), rest: next.rest };
  }
  return read;
}

function one([word, ...rest]: readonly string[]): Read {
  if (word === undefined || word === ")" || word === "OR" || word === "AND") return undefined;
  if (word !== "(") return { allowed: allowedLicenses.includes(word), rest };
  const inside = either(rest);
  return inside?.rest[0] === ")" ? { allowed: inside.allowed, rest: inside.rest.slice(1) } : undefined;
}
