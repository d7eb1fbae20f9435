/** Finds the place at which a long line is cut. */

/** The text before the cut ends at `end`, and the text behind it starts at `next`. Between them is only white space. */
export type Cut = { end: number; next: number };

/** How far behind the cut a link or code span may end to be recognized. Bounds the work. */
const lookAhead = 600;

/** Links, code and emphasis, which would break if they were split. */
const inseparable =
  /<[^<>\n]{1,500}>|!?\[[^[\]\n]{0,300}\]\([^()\s]{0,500}\)|`[^`\n]{1,300}`|\*\*[^*\n]{1,300}\*\*|\*[^*\s][^*\n]{0,300}\*/g;
const sentenceEnd = /((?<![.!?…])[.!?…]+["'”’)\]]*)[ \t]+|([。．！？]+[”’」』）】]*)[ \t\u3000]*/g;
const blanks = /[ \t\u3000]+/g;

type Limits = { text: string; minLength: number; maxLength: number };

/**
 * Finds the last place between sentences (also Japanese ones) or words, otherwise between two graphemes. Prefers places behind
 * `minLength`, which is above 0. The text is longer than `maxLength`.
 */
export function findCut({ text, minLength, maxLength }: Limits): Cut {
  // One more character shows whether the last place is before a blank.
  const window = text.slice(0, maxLength + 1);
  const spans = [...text.slice(0, maxLength + lookAhead).matchAll(inseparable)]
    .map((match) => ({ from: match.index, to: match.index + match[0].length }))
    .filter(({ from, to }) => to > minLength && from < maxLength);
  const place = findLastPlace(sentenceEnd) ?? findLastPlace(blanks);
  if (place !== undefined) return place;
  const lastEnd = findCharacterCut({ text, minLength, maxLength });
  // Without blanks, such as between links or in Japanese, the cut is before what it would split.
  const cutSpan = spans.find(({ from, to }) => from >= minLength && from < lastEnd && lastEnd < to);
  const end = cutSpan?.from ?? lastEnd;
  return { end, next: end };

  /** Finds the last match that does not split anything inseparable. Both lists are in text order. */
  function findLastPlace(pattern: RegExp): Cut | undefined {
    let index = spans.length - 1;
    for (const match of [...window.matchAll(pattern)].reverse()) {
      const [, mark = "", wideMark = ""] = match;
      const end = match.index + mark.length + wideMark.length;
      if (end < minLength) return undefined;
      while ((spans[index]?.from ?? -1) >= end) index -= 1;
      const isWithin = index >= 0 && end < (spans[index]?.to ?? 0);
      if (end <= maxLength && !isWithin) return { end, next: match.index + match[0].length };
    }
    return undefined;
  }
}

function findCharacterCut({ text, minLength, maxLength }: Limits): number {
  // Includes one code point behind the limit. With half of it, the grapheme before it would look complete.
  const window = text.slice(0, maxLength + 2);
  const cutEntity = /&[a-z]{0,3}$/.exec(window.slice(0, maxLength));
  if (cutEntity !== null && cutEntity.index >= minLength) return cutEntity.index;
  const backticks = /`{1,2}$/.exec(window.slice(0, maxLength));
  if (backticks !== null && window[maxLength] === "`" && backticks.index >= minLength)
    return backticks.index;
  const grapheme = new Intl.Segmenter(undefined, { granularity: "grapheme" })
    .segment(window)
    .containing(maxLength);
  if (grapheme !== undefined && grapheme.index >= minLength) return grapheme.index;
  // The grapheme is longer than a part, so it is split between code points.
  const isPair =
    /[\uD800-\uDBFF]/.test(window[maxLength - 1] ?? "") &&
    /[\uDC00-\uDFFF]/.test(window[maxLength] ?? "");
  return isPair ? maxLength - 1 : maxLength;
}
