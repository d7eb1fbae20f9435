/** Where to cut a text that is too long for one message. Pure. */

/** The part ends before `end`, the next one begins at `next`; between them is white space only. `isOpen`: within a code block. */
export type Cut = { end: number; next: number; isOpen: boolean };

/** A nicer place is taken only where the part is not made much shorter by it: so the parts stay few. */
const leastShare = 0.6;

/**
 * The nicest place in the last part of `budget`: between paragraphs, lines, sentences (Japanese ones as well), words;
 * outside of code blocks before inside. Without any, between two characters as a reader sees them.
 * `isOpen` says whether the text begins within a code block. `budget` is shorter than the text.
 */
export function findCut({ text, budget, isOpen }: { text: string; budget: number; isOpen: boolean }): Cut {
  const least = Math.floor(budget * leastShare);
  // What follows decides whether the last place is one: a line's end, the blank after a full stop.
  const window = text.slice(0, budget + 1);
  const openAt = fenceStates({ text: window, isOpen });
  const candidates = (pattern: RegExp) =>
    [...window.matchAll(pattern)]
      .map((match) => ({
        end: match.index + (match.groups?.kept ?? "").length,
        next: match.index + match[0].length,
      }))
      .filter(({ end }) => end >= least && end <= budget && end > 0)
      .map((cut) => ({ ...cut, isOpen: openAt(cut.end) }));
  const paragraphs = candidates(/\n[ \t]*\n\s*/g);
  const lines = candidates(/\n/g);
  const outside = (cuts: Cut[]) => cuts.findLast((cut) => !cut.isOpen);
  const found =
    outside(paragraphs) ??
    outside(lines) ??
    lines.at(-1) ??
    candidates(/(?<kept>[.!?…]+["'”’)\]]*)[ \t]+|(?<kept>[。．！？]+[”’」』）】]*)[ \t\u3000]*/g).at(-1) ??
    candidates(/[ \t\u3000]+/g).at(-1);
  if (found !== undefined) return found;
  const end = betweenCharacters({ text, budget, least });
  return { end, next: end, isOpen: openAt(end) };
}

/** Whether a place is within a code block: three backticks open one, or close it. */
function fenceStates({ text, isOpen }: { text: string; isOpen: boolean }): (at: number) => boolean {
  const ends = [...text.matchAll(/```/g)].map(({ index }) => index + 3);
  return (at) => (ends.filter((end) => end <= at).length % 2 === 1) !== isOpen;
}

function betweenCharacters({ text, budget, least }: { text: string; budget: number; least: number }): number {
  // One code point more than the budget: with half of it, the character before it would look whole.
  const window = text.slice(0, budget + 2);
  const cutEntity = /&[a-z]{0,3}$/.exec(window.slice(0, budget));
  if (cutEntity !== null && cutEntity.index >= least) return cutEntity.index;
  const backticks = /`{1,2}$/.exec(window.slice(0, budget));
  if (backticks !== null && window[budget] === "`" && backticks.index >= least) return backticks.index;
  const grapheme = new Intl.Segmenter(undefined, { granularity: "grapheme" }).segment(window).containing(budget);
  if (grapheme !== undefined && grapheme.index >= least) return grapheme.index;
  // A "character" without end: at least its surrogate pairs stay whole.
  const isPair = /[\uD800-\uDBFF]/.test(window[budget - 1] ?? "") && /[\uDC00-\uDFFF]/.test(window[budget] ?? "");
  return isPair ? budget - 1 : budget;
}
