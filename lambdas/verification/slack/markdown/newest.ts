/** Cuts a text that is still being written, so that its end fits into a message. */
import { openFence } from "./markdown.ts";
import {
  blockText,
  createPart,
  joinBlocks,
  listPieces,
  measureBlock,
  type Part,
  type TextBlock,
} from "./text-blocks.ts";

/** Stands before the end of a text that was cut. */
const cutMark = "…\n\n";
const partOfCharacter = /^[\uDC00-\uDFFF\p{M}\u200D]+/u;

/**
 * Returns at most the last `maxLength` UTF-16 units (at least 200). A code block that is cut is opened again. If `isCut`, the blocks are
 * the end of a longer text.
 */
export function newestPart(request: {
  blocks: readonly TextBlock[];
  maxLength: number;
  isCut: boolean;
}): Part {
  const { blocks, maxLength, isCut } = request;
  if (!isCut && joinBlocks(blocks).length <= maxLength) return createPart(blocks);
  const part = createPart(listNewest({ blocks, maxLength: maxLength - cutMark.length }));
  return { ...part, text: cutMark + part.text };
}

/** Returns the last blocks, and perhaps the end of one, of at most `maxLength` together. */
export function listNewest(request: {
  blocks: readonly TextBlock[];
  maxLength: number;
}): TextBlock[] {
  const { blocks, maxLength } = request;
  const remaining = [...blocks];
  const newest: TextBlock[] = [];
  let room = maxLength;
  for (let block = remaining.pop(); block !== undefined; block = remaining.pop()) {
    const length = measureBlock(block, room);
    if (length <= room) {
      newest.push(block);
      room -= length + block.joint.length;
    } else if (block.pieces !== undefined) {
      for (const piece of listPieces(block)) remaining.push(piece);
    } else {
      const end = cutBlockToEnd({ block, room });
      if (end !== undefined) newest.push(end);
      break;
    }
  }
  return newest.reverse();
}

/** A shorter end of a line is left out. */
const minLineEnd = 100;

function cutBlockToEnd({ block, room }: { block: TextBlock; room: number }): TextBlock | undefined {
  let lineRoom = room - blockText({ ...block, body: [] }).length - 1;
  const lines: string[] = [];
  for (const line of block.body.toReversed()) {
    if (line.length > lineRoom) {
      if (lines.length === 0 && lineRoom > minLineEnd) lines.push(cutLineToEnd(line, lineRoom));
      break;
    }
    lines.push(line);
    lineRoom -= line.length + 1;
  }
  const body = lines.reverse();
  return body.length === 0 ? undefined : { ...block, body, node: undefined };
}

/** Starts at a word if one is near. Never starts within a character. */
function cutLineToEnd(line: string, length: number): string {
  const end = line.slice(-length);
  const [blanks] = /^\S{0,30}\s+/.exec(end) ?? [""];
  return end.slice(blanks.length).replace(partOfCharacter, "");
}

/**
 * Returns about the last `maxLength` UTF-16 units of Markdown. Bounds the input of slower functions. The result may start within a
 * line, but not within a comment, whose rest would become visible. If it starts within a fence, the fence is reopened.
 */
export function lastPart({ text, maxLength }: { text: string; maxLength: number }): string {
  if (text.length <= maxLength) return text;
  const start = afterComment(text, text.length - maxLength);
  return openFence(text.slice(0, start)) + text.slice(start).replace(partOfCharacter, "");
}

/** Returns `at`, or the end of the comment that `at` is in. An unclosed comment ends with the text. */
function afterComment(text: string, at: number): number {
  const opened = text.lastIndexOf("<!--", at - 1);
  // Only a comment whose closing signs are all before `at` is over there.
  if (opened < 0 || text.lastIndexOf("-->", at - 3) > opened) return at;
  const closed = text.indexOf("-->", opened + 4);
  return closed < 0 ? text.length : Math.max(at, closed + 3);
}
