/** Looks at the bytes of a response for what a JSON parser does not tell: duplicate keys, a byte order mark, broken texts. */
import { isNestedTooDeep, isTooDeep } from "@sekisho/runtime/untrusted-input.ts";

export type RawProblem =
  | "byte-order-mark"
  | "not-utf-8"
  | "not-json"
  | "duplicate-key"
  | "half-character"
  | "too-deep";

/** `json` is undefined if there is none, or if it is nested too deep to be looked at. */
export type RawJson = { json: unknown; problems: readonly RawProblem[] };

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

export function readRawJson(body: Uint8Array): RawJson {
  const problems: RawProblem[] = [];
  let text: string;
  try {
    text = utf8.decode(body);
  } catch {
    return { json: undefined, problems: ["not-utf-8"] };
  }
  if (text.startsWith("\ufeff")) problems.push("byte-order-mark");
  const plain = text.replace(/^\ufeff/, "");
  let json: unknown;
  try {
    json = JSON.parse(plain);
  } catch {
    return { json: undefined, problems: [...problems, "not-json"] };
  }
  if (isTooDeep(Buffer.from(plain)) || isNestedTooDeep(json)) {
    return { json: undefined, problems: [...problems, "too-deep"] };
  }
  if (hasDuplicateKey(plain)) problems.push("duplicate-key");
  if (listStrings(json).some((one) => !one.isWellFormed())) problems.push("half-character");
  return { json, problems };
}

/** One string, bracket, comma or colon of JSON, whichever comes next. */
const token = /"(?:[^"\\]|\\.)*"|[{}[\],:]/g;

/** `text` must be JSON. */
function hasDuplicateKey(text: string): boolean {
  /** One entry per open bracket: the keys of an object so far, or undefined for a list. */
  const open: (Set<string> | undefined)[] = [];
  let expectsKey = false;
  for (const [piece] of text.matchAll(token)) {
    if (piece === "{" || piece === "[") open.push(piece === "{" ? new Set() : undefined);
    else if (piece === "}" || piece === "]") open.pop();
    const keys = open.at(-1);
    if (piece.startsWith('"') && expectsKey && keys !== undefined) {
      const key = String(JSON.parse(piece));
      if (keys.has(key)) return true;
      keys.add(key);
    }
    expectsKey = piece === "{" || piece === ",";
  }
  return false;
}

/** All texts in it, names of members included. `json` must not be nested deeply. */
export function listStrings(json: unknown): string[] {
  if (typeof json === "string") return [json];
  if (typeof json !== "object" || json === null) return [];
  const names = Array.isArray(json) ? [] : Object.keys(json);
  return [...names, ...Object.values(json).flatMap(listStrings)];
}
