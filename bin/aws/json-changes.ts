/** What differs between two JSON values, one line for each place; pure. */

export function jsonChanges({ before, after }: { before: unknown; after: unknown }): string[] {
  const old = new Map(leaves(before));
  const wanted = new Map(leaves(after));
  const places = [...new Set([...old.keys(), ...wanted.keys()])];
  return places.flatMap((place) => {
    const [from, to] = [old.get(place), wanted.get(place)];
    if (from === to) return [];
    if (from === undefined) return [`+ ${place}: ${to}`];
    return [to === undefined ? `- ${place}: ${from}` : `  ${place}: ${from} -> ${to}`];
  });
}

/** Every value that holds no other, with its path. */
function leaves(value: unknown, path = ""): [string, string][] {
  if (typeof value !== "object" || value === null) return [[path, JSON.stringify(value)]];
  const entries = Object.entries(value);
  if (entries.length === 0) return path === "" ? [] : [[path, Array.isArray(value) ? "[]" : "{}"]];
  const joined = (key: string) => (Array.isArray(value) ? `${path}[${key}]` : [path, key].filter(Boolean).join("."));
  return entries.flatMap(([key, inner]) => leaves(inner, joined(key)));
}
