/** A text in one line and no longer than it may be. Pure. */

const graphemes = new Intl.Segmenter(undefined, { granularity: "grapheme" });

/** At most `maxLength` UTF-16 units, an ellipsis included; what a reader sees as one character stays whole. */
export function shorten({ text, maxLength }: { text: string; maxLength: number }): string {
  const line = text
    .slice(0, maxLength * 4)
    .replace(/\s+/g, " ")
    .trim();
  if (line.length <= maxLength) return line;
  let kept = "";
  for (const { segment } of graphemes.segment(line.slice(0, maxLength + 1))) {
    if (kept.length + segment.length > maxLength - 1) break;
    kept += segment;
  }
  return `${kept.trimEnd()}…`;
}
