/** Emphasis of Markdown (CommonMark 0.31, section 6.2) in a row of nodes and marks: each is looked at a bounded number of times. */
import type { Inline, Work } from "./nodes.ts";

/** Signs that may open emphasis, close it, or be text. */
export type Mark = { type: "mark"; sign: string; count: number; opens: boolean; closes: boolean };

/** When more signs are open at the same time, the first ones are text, so that nothing nests deeper. */
export const maxOpen = 32;
/** Longer runs are text. */
const maxSigns = 6;

type Opener = { mark: Mark; at: number };

const blank = /^\s/u;
const punctuation = /^[\p{P}\p{S}]/u;

/** `before` and `after` are the characters beside the signs; empty at the ends of the text. */
export function markOf({ signs, before, after }: { signs: string; before: string; after: string }): Mark {
  const sign = signs[0] ?? "";
  const isBlankBefore = before === "" || blank.test(before);
  const isBlankAfter = after === "" || blank.test(after);
  const isSignBefore = punctuation.test(before);
  const isSignAfter = punctuation.test(after);
  const isLeft = !isBlankAfter && (!isSignAfter || isBlankBefore || isSignBefore);
  const isRight = !isBlankBefore && (!isSignBefore || isBlankAfter || isSignAfter);
  const isWordSign = sign === "_";
  const mayBe = signs.length <= (sign === "~" ? 2 : maxSigns);
  return {
    type: "mark",
    sign,
    count: signs.length,
    opens: mayBe && isLeft && (!isWordSign || !isRight || isSignBefore),
    closes: mayBe && isRight && (!isWordSign || !isLeft || isSignAfter),
  };
}

export function withEmphasis(row: readonly (Inline | Mark)[], work: Work): Inline[] {
  work.spend(row.length);
  const shown: (Inline | Mark)[] = [];
  const openers: Opener[] = [];

  for (const entry of row) {
    if (entry.type !== "mark") {
      shown.push(entry);
      continue;
    }
    const mark = { ...entry };
    while (mark.closes && mark.count > 0) {
      const opener = openerOf(mark);
      if (opener === undefined) break;
      close(opener, mark);
    }
    if (mark.count === 0) continue;
    if (mark.opens) addOpener({ mark, at: shown.length });
    shown.push(mark);
  }
  return merged(shown);

  function openerOf(closer: Mark): Opener | undefined {
    for (let at = openers.length - 1; at >= 0; at -= 1) {
      const opener = openers[at];
      work.spend(1);
      if (opener !== undefined && fits(opener.mark, closer)) {
        openers.length = at + 1;
        return opener;
      }
    }
    return undefined;
  }

  function close({ mark: opener, at }: Opener, closer: Mark): void {
    const used = opener.sign === "~" ? opener.count : Math.min(2, opener.count, closer.count);
    work.spend(shown.length - at);
    const children = merged(shown.splice(at + 1));
    opener.count -= used;
    closer.count -= used;
    if (opener.count === 0) {
      shown.pop();
      openers.pop();
    }
    shown.push({ type: opener.sign === "~" ? "del" : used === 2 ? "strong" : "em", children });
  }

  function addOpener(opener: Opener): void {
    openers.push(opener);
    if (openers.length > maxOpen) openers.shift();
  }
}

function fits(opener: Mark, closer: Mark): boolean {
  if (opener.sign !== closer.sign) return false;
  if (opener.sign === "~") return opener.count === closer.count;
  const isOdd = (opener.closes || closer.opens) && (opener.count + closer.count) % 3 === 0;
  return !isOdd || (opener.count % 3 === 0 && closer.count % 3 === 0);
}

function merged(row: readonly (Inline | Mark)[]): Inline[] {
  const inlines: Inline[] = [];
  let text = "";
  for (const entry of row) {
    if (entry.type === "mark") text += entry.sign.repeat(entry.count);
    else if (entry.type === "text") text += entry.text;
    else {
      if (text !== "") inlines.push({ type: "text", text });
      text = "";
      inlines.push(entry);
    }
  }
  if (text !== "") inlines.push({ type: "text", text });
  return inlines;
}

// Runs of backticks in a text, found once: what closes the code that one of them opens.

export type Backticks = { lengthAt(at: number): number; closing(from: number, length: number): number | undefined };

export function createBackticks(content: string, work: Work): Backticks {
  work.spend(content.length);
  const lengths = new Map<number, number>();
  const places = new Map<number, number[]>();
  const passed = new Map<number, number>();
  for (const match of content.matchAll(/`+/g)) {
    const [{ length }] = match;
    lengths.set(match.index, length);
    const same = places.get(length) ?? [];
    same.push(match.index);
    places.set(length, same);
  }
  return {
    // Behind a backslash a run is shorter by one.
    lengthAt(at) {
      const known = lengths.get(at);
      if (known !== undefined) return known;
      let end = at;
      while (content[end] === "`") end += 1;
      return end - at;
    },
    closing(from, length) {
      const same = places.get(length) ?? [];
      let index = passed.get(length) ?? 0;
      for (; index < same.length && (same[index] ?? 0) < from; index += 1) work.spend(1);
      passed.set(length, index);
      return same[index];
    },
  };
}
