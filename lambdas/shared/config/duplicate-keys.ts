/** Finds the keys that an object of a JSON text has more than once; JSON.parse takes the last and says nothing. */

type Path = (string | number)[];
type Open = { kind: "object"; keys: Set<string>; key: string } | { kind: "array"; index: number };

/** Where each repeated key is. `text` must be JSON: whoever calls this has parsed it. */
export function duplicateKeys(text: string): Path[] {
  const open: Open[] = [];
  const found: Path[] = [];
  let awaitsKey = false;
  // Outside of strings only these characters say where in the structure one is.
  for (const [token] of text.matchAll(/"(?:[^"\\]|\\.)*"|[[\]{},]/g)) {
    const inner = open.at(-1);
    if (token === "{") open.push({ kind: "object", keys: new Set(), key: "" });
    else if (token === "[") open.push({ kind: "array", index: 0 });
    else if (token === "}" || token === "]") open.pop();
    else if (token === "," && inner?.kind === "array") inner.index += 1;
    else if (awaitsKey && inner?.kind === "object") {
      inner.key = JSON.parse(token);
      if (inner.keys.has(inner.key)) found.push(open.map(stepOf));
      inner.keys.add(inner.key);
    }
    awaitsKey = token === "{" || (token === "," && inner?.kind === "object");
  }
  return found;
}

function stepOf(open: Open): string | number {
  return open.kind === "object" ? open.key : open.index;
}
