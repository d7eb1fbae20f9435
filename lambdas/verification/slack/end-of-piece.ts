/** Where a text that is still being written is best cut for now: where what comes will not make something else of what stands. Pure. */

/** Slack takes 12,000 characters at once; made safe, a text is longer. */
const mostLength = 6000;
/** What would hold a text back for ever: then it is cut in there all the same. */
const mostHeldBack = 1500;
/** Of a line that is shown in part already, so much is looked at again. */
const lookBehind = 500;
const mostPlaces = 20;

/** Links, code, emphasis, and Slack's own notation, of which the end is not there yet. */
const open = /\[[^[\]]*$|\]\([^()]*$|<[^\s<>][^<>]*$/;
/** Lines that mean something as a whole only: rows of tables, fences. */
const wholeLine = /^[ \t>]*(?:\||`{3}|~{3})/;
/** Behind a blank, the end of a Japanese clause, or a full stop that is the last there is. */
const place = /[ \t\u3000]+|[。、！？]+|(?<![.!?])[.!?]+$/g;

/** At least `from`; the text up to there is whole lines, or whole words of its last line. No pair of surrogates is parted. */
export function endOfPiece({ text, from }: { text: string; from: number }): number {
  const rest = text.slice(from, from + mostLength);
  const lineEnd = from + rest.lastIndexOf("\n") + 1;
  const lineStart = Math.max(lineEnd > from ? lineEnd : text.lastIndexOf("\n", from - 1) + 1, from - lookBehind);
  const line = text.slice(lineStart, from + rest.length);
  const within = wholeLine.test(line) ? undefined : lastPlace({ line, from: Math.max(0, from - lineStart) });
  const end = within === undefined ? lineEnd : Math.max(lineEnd, lineStart + within);
  const isHeldBack = end === from && rest.length > mostHeldBack;
  return isHeldBack ? wholeCharacters(text, from + rest.length) : end;
}

/** The last place of the line that is behind `from` and within nothing. */
function lastPlace({ line, from }: { line: string; from: number }): number | undefined {
  const ends = [...line.matchAll(place)].map((match) => match.index + match[0].length).filter((end) => end > from);
  return ends
    .toReversed()
    .slice(0, mostPlaces)
    .find((end) => isClosed(line.slice(0, end)));
}

function isClosed(line: string): boolean {
  return !open.test(line) && count(line, /`/g) % 2 === 0 && count(line, /\*\*/g) % 2 === 0;
}

function count(text: string, pattern: RegExp): number {
  return text.match(pattern)?.length ?? 0;
}

function wholeCharacters(text: string, end: number): number {
  return /[\uD800-\uDBFF]/.test(text[end - 1] ?? "") ? end - 1 : end;
}
