/** Splits an answer into parts that fit into Slack messages, at the places where a reader would split it. */
import { findCut } from "./cut.ts";
import {
  blockText,
  createPart,
  hasText,
  joinBlocks,
  listPieces,
  measureBlock,
  type Part,
  type TextBlock,
} from "./text-blocks.ts";

/**
 * All markdown blocks of a message may hold 12,000 characters together (https://docs.slack.dev/reference/block-kit/blocks/markdown-block).
 * Slack has also refused messages with little more than 13,000 characters in all blocks (`msg_blocks_too_long`).
 */
export const maxMarkdownLength = 11_500;
/**
 * `chat.update` refuses texts above 4,000 characters (`msg_too_long`), and the first part is an edit of the placeholder. The margin
 * is there because Slack does not say how it counts characters. (`chat.postMessage` takes 40,000 and cuts the rest.)
 */
export const maxMrkdwnLength = 3900;

/** A paragraph that fits into the next part is split only if this part would otherwise be emptier than this share. */
const minFilledShare = 0.5;
/** A smaller share of free room stays empty. */
const minRoomShare = 0.25;

type SplitRequest = { blocks: readonly TextBlock[]; maxLength: number };

/**
 * Returns parts of at most `maxLength` UTF-16 units (at least 200). Prefers to split between blocks, then lines, sentences and words. A
 * split code block is closed and opened again with its language, and a split table repeats its header. Only white space at the cuts is
 * lost. Blocks of white space have no parts.
 */
export function* splitBlocks(request: SplitRequest): Generator<Part> {
  for (const blocks of divideBlocks(request)) if (blocks.some(hasText)) yield createPart(blocks);
}

export function countParts(request: SplitRequest): number {
  return [...divideBlocks(request)].filter((blocks) => blocks.some(hasText)).length;
}

/** Returns the blocks of each part. Some parts may be white space. */
function* divideBlocks({ blocks, maxLength }: SplitRequest): Generator<readonly TextBlock[]> {
  if (maxLength < 200) throw new RangeError("maxLength must be at least 200");
  const remaining = blocks.toReversed();
  let part: TextBlock[] = [];
  let length = 0;
  for (let block = remaining.pop(); block !== undefined; block = remaining.pop()) {
    const start = part.length === 0 ? 0 : length + block.joint.length;
    const room = maxLength - start;
    const blockLength = measureBlock(block, room);
    if (blockLength <= room) {
      part.push(block);
      length = start + blockLength;
    } else if (part.length > 0 && isForNextPart({ block, room, maxLength })) {
      remaining.push(block);
      // A heading moves to the next part together with its content.
      if (part.length > 1 && part.at(-1)?.kind === "heading") remaining.push(...part.splice(-1));
      yield part;
      part = [];
    } else if (block.pieces !== undefined) {
      for (const piece of listPieces(block).toReversed()) remaining.push(piece);
    } else {
      const end = yield* divideBlock({ part, block, room, maxLength });
      if (end !== undefined) remaining.push(end);
      part = [];
    }
  }
  yield part;
}

/** Returns the beginning of the blocks, with an ellipsis if they were cut. */
export function cutBlocks({ blocks, maxLength }: SplitRequest): string {
  const text = joinBlocks(blocks);
  if (text.length <= maxLength) return text;
  const [part] = splitBlocks({ blocks, maxLength: maxLength - 3 });
  return `${part?.text ?? ""}\n…`;
}

/** The block does not fit into the room of this part. */
function isForNextPart(request: { block: TextBlock; room: number; maxLength: number }): boolean {
  const { block, room, maxLength } = request;
  const isShort = room > maxLength * (1 - minFilledShare);
  const canWait = !isShort || (block.kind !== "text" && block.kind !== "group");
  return (
    room < maxLength * minRoomShare || (canWait && measureBlock(block, maxLength) <= maxLength)
  );
}

/** Marks that take a larger share of the room are not repeated, because the messages would show little else. */
const maxFrameShare = 0.25;
/** A text is cut at the end of a line if that fills this share of the room. Otherwise, there would be too many parts. */
const minLinesShare = 0.6;

type Division = { part: readonly TextBlock[]; block: TextBlock; room: number; maxLength: number };

/**
 * Yields `part` with a piece of at most `room` UTF-16 units (at least 50), then pieces of at most `maxLength`. Returns the last piece,
 * which may share a part with the next block, or undefined if only white space is left. The block is longer than `room`.
 */
function* divideBlock(request: Division): Generator<readonly TextBlock[], TextBlock | undefined> {
  const { block, maxLength } = request;
  const { head, body, prefix } = block;
  const frameLength = head.length === 0 ? 0 : blockText({ ...block, body: [] }).length + 1;
  if (frameLength > request.room * maxFrameShare)
    return yield* divideBlock({ ...request, block: removeFrame(block) });
  // Copied only once, because many short lines may become many pieces.
  const lines = [...body];
  const lastText = lines.findLastIndex((line) => /\S/.test(line));
  const nextHead = head.map((line, index) =>
    index === 0 ? prefix + line.slice(prefix.length) : line,
  );
  let { part, room } = request;
  let piece: TextBlock = { ...block, node: undefined };
  for (let at = 0; ; room = maxLength) {
    const bodyRoom = room - frameLength;
    const minLength = Math.floor(bodyRoom * minLinesShare);
    const { count, length } = countLines({ lines, at, room: bodyRoom });
    const whole = lines.slice(at, at + count);
    at += count;
    const { [at]: line } = lines;
    if (line === undefined) return { ...piece, body: whole };
    let hasMore = at <= lastText;
    if (count === 0 || (head.length === 0 && length < minLength)) {
      const wholeLength = count === 0 ? 0 : length + 1;
      const cut = findCut({
        text: line,
        maxLength: bodyRoom - wholeLength,
        minLength: Math.max(1, minLength - wholeLength),
      });
      whole.push(line.slice(0, cut.end));
      const lineStart = prefix.length > room * maxFrameShare ? "" : prefix;
      const lineEnd = line.slice(cut.next);
      lines[at] = lineStart + lineEnd;
      // Looks from the end, because each piece of a line of blanks would look through all the others.
      hasMore = at < lastText || /\S/.test(lineStart) || lineEnd.trimEnd() !== "";
    }
    yield [...part, { ...piece, body: whole }];
    if (!hasMore) return undefined;
    part = [];
    piece = { ...piece, head: nextHead };
  }
}

/** Shows the header of a drawn table only once, but opens its fence in each message. */
function removeFrame({ head, body, tail, ...block }: TextBlock): TextBlock {
  return block.kind === "fence" && head.length > 1
    ? { ...block, head: head.slice(0, 1), body: [...head.slice(1), ...body], tail }
    : { ...block, kind: "text", head: [], body: [...head, ...body, ...tail], tail: [] };
}

/** Counts the lines from `at` that fit into the room. `length` is theirs. */
function countLines({ lines, at, room }: { lines: readonly string[]; at: number; room: number }): {
  count: number;
  length: number;
} {
  let length = -1;
  let end = at;
  for (; end < lines.length; end += 1) {
    const nextLength = length + 1 + (lines[end]?.length ?? 0);
    if (nextLength > room) break;
    length = nextLength;
  }
  return { count: end - at, length };
}
