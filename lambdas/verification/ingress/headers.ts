/** HTTP headers as they came: a list of pairs, so that a header sent twice stays visible. */

export type HeaderPairs = readonly (readonly [name: string, value: string])[];

/** The value of a header that was sent exactly once, whatever its letter case; undefined where it is absent or repeated. */
export function soleHeader(headers: HeaderPairs, name: string): string | undefined {
  const values = headers.filter(([given]) => given.toLowerCase() === name);
  return values.length === 1 ? values[0]?.[1] : undefined;
}
