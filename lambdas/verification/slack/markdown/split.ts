/** Splits an answer into parts that fit into Slack messages, at the places where a reader would split it. */

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

/** A paragraph or list that fits into the next part is split only if this part would otherwise be emptier than this share. */
const minFilledShare = 0.5;
/** A smaller share of free room stays empty. */
const minRoomShare = 0.25;

/**
 * Returns parts of at most `maxLength` UTF-16 units (at least 200). Prefers to split between Markdown blocks, then lines, sentences
 * and words. A split code block is closed and opened again with its language, and a split table repeats its header. Only white
 * space at the cuts is lost. A text of white space has no parts. `text` is Markdown or escaped mrkdwn, and an entity such as
 * `&amp;` is never split.
 */
export function splitAnswer({ text, maxLength }: { text: string; maxLength: number }): string[] {
  if (maxLength < 200) throw new RangeError("maxLength must be at least 200");
  const whole = text.trimEnd();
  if (whole === "") return [];
  if (whole.length <= maxLength) return [whole];
  const parts: string[] = [];
  const blocksLeft = scanBlocks(whole).reverse();
  let part: TextBlock[] = [];
  let partLength = 0;
  for (let block = blocksLeft.pop(); block !== undefined; block = blocksLeft.pop()) {
    const room = maxLength - partLength - jointBefore({ block, isFirst: part.length === 0 }).length;
    if (fitsInto(block, room)) {
      take(block);
      continue;
    }
    const isShort = room > maxLength * (1 - minFilledShare);
    const fitsNext =
      fitsInto(block, maxLength) && !(isShort && (block.kind === "text" || block.kind === "list"));
    if (part.length > 0 && (fitsNext || room < maxLength * minRoomShare)) {
      blocksLeft.push(block);
      // A heading moves to the next part together with its content.
      if (part.length > 1 && part.at(-1)?.kind === "heading") blocksLeft.push(...part.splice(-1));
      flush();
      continue;
    }
    const { kept, rest } = divideBlock({ block, room });
    take(kept);
    if (hasText(rest)) blocksLeft.push(rest);
    flush();
  }
  flush();
  return parts;

  function take(block: TextBlock): void {
    partLength +=
      jointBefore({ block, isFirst: part.length === 0 }).length + blockText(block).length;
    part.push(block);
  }

  function flush(): void {
    if (part.some(hasText)) parts.push(joinBlocks(part).trimEnd());
    part = [];
    partLength = 0;
  }
}

function hasText({ kind, head, body }: TextBlock): boolean {
  return (kind === "table" && head.length > 0) || body.some((line) => line.trim() !== "");
}

/** A head that takes a larger share of the room is not repeated, because the messages would show little else. */
const maxHeadShare = 0.25;

/** `kept` has at most `room` UTF-16 units. Neither part is empty. The block is longer than `room`, which is at least 50. */
function divideBlock({ block, room }: { block: TextBlock; room: number }): {
  kept: TextBlock;
  rest: TextBlock;
} {
  const { head, tail } = block;
  if (head.length === 0) return divideText({ block, room });
  const frame = blockText({ ...block, body: [] }).length + 1;
  if (frame > room * maxHeadShare) {
    // Shows the header of a fenced table only once, but opens the fence in each message.
    if (block.kind === "fence" && head.length > 1)
      return divideBlock({ block: withoutHeader(block), room });
    return divideText({ block: toText(block), room });
  }
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

/**
 * Joins only the lines around the cut, and only the beginning of a long one. Joining all lines at every cut would be slow for many short
 * lines, and splitting the rest for one long line.
 */
function divideText({ block, room }: { block: TextBlock; room: number }): {
  kept: TextBlock;
  rest: TextBlock;
} {
  const { body } = block;
  const count = linesThatFit({ lines: body, room: room + lookAhead });
  const { [count]: lastLine = "" } = body;
  const shortLines = body
    .slice(0, count)
    .map((line) => `${line}\n`)
    .join("");
  const text = shortLines + lastLine.slice(0, room + lookAhead);
  const { end, next } = findCut({ text, budget: room });
  const restOfShort = next < shortLines.length ? shortLines.slice(next, -1).split("\n") : [];
  const lastRest =
    count < body.length ? [lastLine.slice(Math.max(0, next - shortLines.length))] : [];
  return {
    kept: { ...block, body: [text.slice(0, end).trimEnd()] },
    rest: { ...block, body: [...restOfShort, ...lastRest, ...body.slice(count + 1)] },
  };
}

function withoutHeader({ head, body, ...block }: TextBlock): TextBlock {
  return { ...block, head: head.slice(0, 1), body: [...head.slice(1), ...body] };
}

function toText(block: TextBlock): TextBlock {
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

/** The part ends before `end`, and the next one starts at `next`. Between them is only white space. */
export type Cut = { end: number; next: number };

/** A better place is used only if the part keeps at least this share of its length. Otherwise, there would be too many parts. */
const minCutShare = 0.6;

/** How far behind the cut a link or code span may end to be recognized. Bounds the work. */
const lookAhead = 600;

/** Links, code and emphasis within a line, which would break if they were split. */
const inseparable =
  /<[^<>\n]{1,500}>|!?\[[^[\]\n]{0,300}\]\([^()\s]{0,500}\)|`[^`\n]{1,300}`|\*\*[^*\n]{1,300}\*\*|\*[^*\s][^*\n]{0,300}\*/g;

/**
 * Finds the best place near the end of `budget`: between list items, lines, sentences (also Japanese ones) or words, otherwise
 * between two graphemes. `budget` is shorter than the text and long enough for `least` to be above 0.
 */
function findCut({ text, budget }: { text: string; budget: number }): Cut {
  const least = Math.floor(budget * minCutShare);
  // One more character shows whether the last place is at a line end or before a blank.
  const window = text.slice(0, budget + 1);
  const whole = [...text.slice(0, budget + lookAhead).matchAll(inseparable)]
    .map((match) => ({ from: match.index, to: match.index + match[0].length }))
    .filter(({ from, to }) => to > least && from < budget);
  const found =
    last(/\n(?=[ \t]*(?:[-*+•◦▪☐☑]|\d{1,9}[.)])[ \t])/g) ??
    last(/\n/g) ??
    last(/((?<![.!?…])[.!?…]+["'”’)\]]*)[ \t]+|([。．！？]+[”’」』）】]*)[ \t\u3000]*/g) ??
    last(/[ \t\u3000]+/g);
  if (found !== undefined) return found;
  const end = findCharacterCut({ text, budget, least });
  return { end, next: end };

  /** Finds the last match that does not split anything inseparable. Both lists are in text order. */
  function last(pattern: RegExp): Cut | undefined {
    let before = whole.length - 1;
    for (const match of [...window.matchAll(pattern)].reverse()) {
      const [, mark = "", wideMark = ""] = match;
      const end = match.index + mark.length + wideMark.length;
      if (end < least) return undefined;
      while ((whole[before]?.from ?? -1) >= end) before -= 1;
      const isWithin = before >= 0 && end < (whole[before]?.to ?? 0);
      if (end <= budget && !isWithin) return { end, next: match.index + match[0].length };
    }
    return undefined;
  }
}

function findCharacterCut({
  text,
  budget,
  least,
}: {
  text: string;
  budget: number;
  least: number;
}): number {
  // Includes one code point behind the budget. With half of it, the grapheme before it would look complete.
  const window = text.slice(0, budget + 2);
  const cutEntity = /&[a-z]{0,3}$/.exec(window.slice(0, budget));
  if (cutEntity !== null && cutEntity.index >= least) return cutEntity.index;
  const backticks = /`{1,2}$/.exec(window.slice(0, budget));
  if (backticks !== null && window[budget] === "`" && backticks.index >= least)
    return backticks.index;
  const grapheme = new Intl.Segmenter(undefined, { granularity: "grapheme" })
    .segment(window)
    .containing(budget);
  if (grapheme !== undefined && grapheme.index >= least) return grapheme.index;
  // The grapheme is longer than a part, so it is split between code points.
  const isPair =
    /[\uD800-\uDBFF]/.test(window[budget - 1] ?? "") &&
    /[\uDC00-\uDFFF]/.test(window[budget] ?? "");
  return isPair ? budget - 1 : budget;
}

/**
 * Every piece of a split block repeats `head` (the opening of a fence, the header of a table) and `tail`. The lines of `body` are
 * divided among the pieces.
 */
export type TextBlock = {
  kind: "fence" | "table" | "list" | "heading" | "text";
  head: readonly string[];
  body: readonly string[];
  tail: readonly string[];
  /** An empty line precedes the block. */
  isApart: boolean;
};

const fenceOpening = /^[ \t>]*(?<ticks>`{3,}(?=[^`]*$)|~{3,})/;
const fenceClosing = /^[ \t>]*(?<ticks>`+|~+)[ \t]*$/;
const tableRuleCell = /^:?-+:?$/;
/** The line below the header of a fenced table. */
const fencedRule = /^-{3,}(?:\+-{3,})+$/;
const listItem = /^[ \t]*(?:[-*+•◦▪☐☑]|\d{1,9}[.)])[ \t]+\S/;
const heading = /^(?:#{1,6}[ \t]+\S.*|\*[^*\n]+\*)$/;

/** Blocks do not include empty lines, except within fences. */
export function scanBlocks(text: string): TextBlock[] {
  const lines = text.split("\n");
  const blocks: TextBlock[] = [];
  let isApart = false;
  for (let at = 0; at < lines.length; ) {
    if (isEmpty(lines[at])) {
      isApart = blocks.length > 0;
      at += 1;
      continue;
    }
    const { block, next } =
      fenceAt({ lines, at }) ?? tableAt({ lines, at }) ?? textAt({ lines, at });
    blocks.push({ ...block, isApart });
    isApart = false;
    at = next;
  }
  return blocks;
}

export function blockText({ head, body, tail }: TextBlock): string {
  return [...head, ...body, ...tail].join("\n");
}

/** True if the text of the block has at most `maxLength` UTF-16 units. Stops counting there. */
function fitsInto({ head, body, tail }: TextBlock, maxLength: number): boolean {
  let length = -1;
  for (const lines of [head, body, tail]) {
    for (const line of lines) {
      length += line.length + 1;
      if (length > maxLength) return false;
    }
  }
  return true;
}

export function joinBlocks(blocks: readonly TextBlock[]): string {
  return blocks
    .map((block, index) => jointBefore({ block, isFirst: index === 0 }) + blockText(block))
    .join("");
}

export function jointBefore({ block, isFirst }: { block: TextBlock; isFirst: boolean }): string {
  return isFirst ? "" : block.isApart ? "\n\n" : "\n";
}

/** If the text ends within a fence, returns the line that opens it, with a line end. Otherwise returns "". */
export function openFence(text: string): string {
  let opening = "";
  let closing: ReturnType<typeof findFenceClosing>;
  for (const line of text.split("\n")) {
    if (closing?.test(line)) closing = undefined;
    else if (closing === undefined) [opening, closing] = [line, findFenceClosing(line)];
  }
  return closing === undefined ? "" : `${opening}\n`;
}

/** Returns a test for the line that closes the fence that `line` opens, or undefined if it opens none. */
function findFenceClosing(line: string): { test(line: string): boolean } | undefined {
  const ticks = fenceOpening.exec(line)?.groups?.ticks;
  if (ticks === undefined) return undefined;
  return {
    test(other) {
      const marks = fenceClosing.exec(other)?.groups?.ticks;
      return marks !== undefined && marks[0] === ticks[0] && marks.length >= ticks.length;
    },
  };
}

type Found = { block: Omit<TextBlock, "isApart">; next: number };
type Position = { lines: readonly string[]; at: number };

/** Closes an unclosed fence. */
function fenceAt({ lines, at }: Position): Found | undefined {
  const open = lines[at] ?? "";
  const closing = findFenceClosing(open);
  if (closing === undefined) return undefined;
  const end = findEnd({ lines, at: at + 1, ends: (line) => closing.test(line) });
  const isTable = fencedRule.test(lines[at + 2] ?? "") && at + 2 < end;
  const first = at + (isTable ? 3 : 1);
  const tail = lines[end] ?? /^[ \t>]*(?:`+|~+)/.exec(open)?.[0] ?? "";
  return {
    block: {
      kind: "fence",
      head: lines.slice(at, first),
      body: lines.slice(first, end),
      tail: [tail],
    },
    next: end + 1,
  };
}

function tableAt({ lines, at }: Position): Found | undefined {
  const rule = lines[at + 1] ?? "";
  if (!lines[at]?.includes("|") || !isTableRule(rule)) return undefined;
  const end = findEnd({ lines, at: at + 2, ends: (line) => isEmpty(line) || !line.includes("|") });
  return {
    block: {
      kind: "table",
      head: lines.slice(at, at + 2),
      body: lines.slice(at + 2, end),
      tail: [],
    },
    next: end,
  };
}

/** Tests each cell. One expression for the whole line would backtrack over long runs of blanks. */
function isTableRule(line: string): boolean {
  if (!line.includes("|")) return false;
  const cells = line.trim().replace(/^\|/, "").replace(/\|$/, "").split("|");
  return cells.every((cell) => tableRuleCell.test(cell.trim()));
}

function textAt({ lines, at }: Position): Found {
  const first = lines[at] ?? "";
  const kind = listItem.test(first) ? "list" : heading.test(first) ? "heading" : "text";
  const ends = (line: string, index: number) =>
    isEmpty(line) ||
    heading.test(line) ||
    fenceOpening.test(line) ||
    (kind === "text" && listItem.test(line)) ||
    tableAt({ lines, at: index }) !== undefined;
  const end = kind === "heading" ? at + 1 : findEnd({ lines, at: at + 1, ends });
  return { block: { kind, head: [], body: lines.slice(at, end), tail: [] }, next: end };
}

function findEnd({
  lines,
  at,
  ends,
}: Position & { ends: (line: string, index: number) => boolean }): number {
  for (let index = at; index < lines.length; index += 1)
    if (ends(lines[index] ?? "", index)) return index;
  return lines.length;
}

function isEmpty(line: string | undefined): boolean {
  return (line ?? "").trim() === "";
}
