/** Where to cut a paragraph or a list that is too long for one message. Pure. */

/** The part ends before `end`, the next one begins at `next`; between them is white space only. */
export type Cut = { end: number; next: number };

/** A nicer place is taken only where the part is not made much shorter by it: so the parts stay few. */
const leastShare = 0.6;

/** What falls apart when it is cut: links, code and emphasis within a line. */
const inseparable =
  /<[^<>\n]{1,500}>|!?\[[^[\]\n]{0,300}\]\([^()\s]{0,500}\)|`[^`\n]{1,300}`|\*\*[^*\n]{1,300}\*\*|\*[^*\s][^*\n]{0,300}\*/g;

/**
 * The nicest place in the last part of `budget`: between items of a list, lines, sentences (Japanese ones as well), words.
 * Without any, between two characters as a reader sees them. `budget` is shorter than the text.
 */
export function findCut({ text, budget }: { text: string; budget: number }): Cut {
  const least = Math.floor(budget * leastShare);
  // What follows decides whether the last place is one: a line's end, the blank after a full stop.
  const window = text.slice(0, budget + 1);
  const whole = [...text.slice(0, budget + 600).matchAll(inseparable)]
    .map((match) => ({ from: match.index, to: match.index + match[0].length }))
    .filter(({ from, to }) => to > least && from < budget);
  const candidates = (pattern: RegExp) =>
    [...window.matchAll(pattern)]
      .map((match) => ({ end: match.index + (match.groups?.kept ?? "").length, next: match.index + match[0].length }))
      .filter(({ end }) => end >= least && end <= budget && end > 0)
      .filter(({ end }) => !whole.some(({ from, to }) => from < end && end < to));
  const found =
    candidates(/\n(?=[ \t]*(?:[-*+•◦▪☐☑]|\d{1,9}[.)])[ \t])/g).at(-1) ??
    candidates(/\n/g).at(-1) ??
    candidates(/(?<kept>(?<![.!?…])[.!?…]+["'”’)\]]*)[ \t]+|(?<kept>[。．！？]+[”’」』）】]*)[ \t\u3000]*/g).at(-1) ??
    candidates(/[ \t\u3000]+/g).at(-1);
  if (found !== undefined) return found;
  const end = betweenCharacters({ text, budget, least });
  return { end, next: end };
}

function betweenCharacters({ text, budget, least }: { text: string; budget: number; least: number }): number {
  // One code point more than the budget: with half of it, the character before it would look whole.
  const window = text.slice(0, budget + 2);
  const cutEntity = /&[a-z]{0,3}$/.exec(window.slice(0, budget));
  if (cutEntity !== null && cutEntity.index >= least) return cutEntity.index;
  const backticks = /`{1,2}$/.exec(window.slice(0, budget));
  if (backticks !== null && window[budget] === "`" && backticks.index >= least) return backticks.index;
  const grapheme = new Intl.Segmenter(undefined, { granularity: "grapheme" }).segment(window).containing(budget);
  if (grapheme !== undefined && grapheme.index >= least && grapheme.index > 0) return grapheme.index;
  // A "character" without end: at least its surrogate pairs stay whole.
  const isPair = /[\uD800-\uDBFF]/.test(window[budget - 1] ?? "") && /[\uDC00-\uDFFF]/.test(window[budget] ?? "");
  return isPair ? budget - 1 : budget;
}
