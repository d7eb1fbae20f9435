/** The end of a text that is still being written. Pure. */
import { blockText, joinBlocks, scanBlocks, type TextBlock } from "./scan-blocks.ts";

const before = "…\n\n";

/** At most `maxLength` UTF-16 units (at least 200) of Markdown, from its end; a fence that is open is closed, one that is cut is opened. */
export function newestText({ text, maxLength }: { text: string; maxLength: number }): string {
  const blocks = scanBlocks(text);
  const all = joinBlocks(blocks);
  if (all.length <= maxLength) return all;
  const kept: TextBlock[] = [];
  let room = maxLength - before.length;
  for (const block of blocks.toReversed()) {
    const { length } = blockText(block);
    if (length > room) {
      const end = endOf({ block, room });
      if (end !== undefined) kept.unshift(end);
      break;
    }
    kept.unshift(block);
    room -= length + 2;
  }
  return before + joinBlocks(kept);
}

function endOf({ block, room }: { block: TextBlock; room: number }): TextBlock | undefined {
  const frame = blockText({ ...block, body: [] }).length + 1;
  let left = room - frame;
  const lines: string[] = [];
  for (const line of block.body.toReversed()) {
    if (line.length > left) {
      const rest = lines.length === 0 && left > 100 ? wellFormedEnd({ text: line, length: left }) : undefined;
      if (rest !== undefined) lines.unshift(rest);
      break;
    }
    lines.unshift(line);
    left -= line.length + 1;
  }
  return lines.length === 0 ? undefined : { ...block, body: lines };
}

/** From the first blank on where one is near; no half of a character. */
function wellFormedEnd({ text, length }: { text: string; length: number }): string {
  const end = text.slice(-length);
  const [blank] = /^\S{0,30}\s+/.exec(end) ?? [""];
  return end.slice(blank.length).replace(/^[\uDC00-\uDFFF\p{M}\u200D]+/u, "");
}
