/** A block that is too long for one message, in two: what still fits, and what follows. Pure. */
import { findCut } from "./find-cut.ts";
import { blockText, type TextBlock } from "./scan-blocks.ts";

/** A head larger than this part of the room is not repeated: there would be no room for anything else. */
const mostHead = 0.5;

/** `kept` has at most `room` UTF-16 units; both hold something. The block is longer than `room`, which is at least 50. */
export function divideBlock({ block, room }: { block: TextBlock; room: number }): { kept: TextBlock; rest: TextBlock } {
  const { head, tail } = block;
  if (head.length === 0) return dividedText({ block, room });
  const frame = blockText({ ...block, body: [] }).length + 1;
  if (frame > room * mostHead) return dividedText({ block: asText(block), room });
  const lines = linesThatFit({ lines: block.body, room: room - frame });
  if (lines > 0) {
    const [kept, rest] = [block.body.slice(0, lines), block.body.slice(lines)];
    return { kept: { ...block, body: kept }, rest: { ...block, body: rest } };
  }
  const [long = "", ...others] = block.body;
  const { end, next } = findCut({ text: long, budget: room - frame });
  const rest = { ...block, head, tail, body: [long.slice(next), ...others] };
  return { kept: { ...block, body: [long.slice(0, end)] }, rest };
}

function dividedText({ block, room }: { block: TextBlock; room: number }): { kept: TextBlock; rest: TextBlock } {
  const text = blockText(block);
  const { end, next } = findCut({ text, budget: room });
  return {
    kept: { ...block, body: [text.slice(0, end).trimEnd()] },
    rest: { ...block, body: text.slice(next).split("\n") },
  };
}

function asText(block: TextBlock): TextBlock {
  return { ...block, kind: "text", head: [], body: [blockText(block)], tail: [] };
}

function linesThatFit({ lines, room }: { lines: readonly string[]; room: number }): number {
  let length = -1;
  let count = 0;
  for (const line of lines) {
    length += line.length + 1;
    if (length > room) break;
    count += 1;
  }
  return count;
}
