/** Splits an answer into parts that fit into Slack messages, at the places where a reader would split it. */
import { findCut } from "./cut.ts";
import {
  blockText,
  createPart,
  hasBody,
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
  for (const blocks of divideBlocks(request)) yield createPart(blocks);
}

export function countParts(request: SplitRequest): number {
  return [...divideBlocks(request)].length;
}

/** Returns the blocks of each part. */
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
      if (part.some(hasText)) yield part;
      part = [];
    } else if (block.pieces !== undefined) {
      for (const piece of listPieces(block).toReversed()) remaining.push(piece);
    } else {
      const { beginning, remainder } = divideBlock({ block, room });
      if (hasBody(remainder)) remaining.push(remainder);
      part.push(beginning);
      if (part.some(hasText)) yield part;
      part = [];
    }
  }
  if (part.some(hasText)) yield part;
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

type Division = { beginning: TextBlock; remainder: TextBlock };

/** `beginning` has at most `room` UTF-16 units, and is not empty. The block is longer than `room`, which is at least 50. */
function divideBlock({ block, room }: { block: TextBlock; room: number }): Division {
  const { head, body } = block;
  const frameLength = head.length === 0 ? 0 : blockText({ ...block, body: [] }).length + 1;
  if (frameLength > room * maxFrameShare) return divideBlock({ block: removeFrame(block), room });
  const bodyRoom = room - frameLength;
  const minLength = Math.floor(bodyRoom * minLinesShare);
  const { count, length } = countLines({ lines: body, room: bodyRoom });
  const whole = body.slice(0, count);
  const prefix = block.prefix.length > room * maxFrameShare ? "" : block.prefix;
  const divided = { ...block, node: undefined };
  const next = {
    ...divided,
    head: head.map((line, index) => (index === 0 ? prefix + line.slice(prefix.length) : line)),
  };
  if (count > 0 && (head.length > 0 || length >= minLength))
    return {
      beginning: { ...divided, body: whole },
      remainder: { ...next, body: body.slice(count) },
    };
  const { [count]: line = "" } = body;
  const wholeLength = count === 0 ? 0 : length + 1;
  const cut = findCut({
    text: line,
    maxLength: bodyRoom - wholeLength,
    minLength: Math.max(1, minLength - wholeLength),
  });
  return {
    beginning: { ...divided, body: [...whole, line.slice(0, cut.end)] },
    remainder: { ...next, body: [prefix + line.slice(cut.next), ...body.slice(count + 1)] },
  };
}

/** Shows the header of a drawn table only once, but opens its fence in each message. */
function removeFrame({ head, body, tail, ...block }: TextBlock): TextBlock {
  return block.kind === "fence" && head.length > 1
    ? { ...block, head: head.slice(0, 1), body: [...head.slice(1), ...body], tail }
    : { ...block, kind: "text", head: [], body: [...head, ...body, ...tail], tail: [] };
}

function countLines({ lines, room }: { lines: readonly string[]; room: number }): {
  count: number;
  length: number;
} {
  let length = -1;
  let count = 0;
  for (const line of lines) {
    if (length + line.length + 1 > room) break;
    length += line.length + 1;
    count += 1;
  }
  return { count, length };
}
