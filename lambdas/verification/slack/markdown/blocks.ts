/**
 * Reads the blocks of a Markdown text (CommonMark with GitHub's tables) line by line. Reads each line once per enclosing block. The
 * nesting depth is bounded, and so is the work.
 */

import { type Definitions, withoutDefinitions } from "./inline-syntax.ts";
import {
  createLine,
  fenceAt,
  headingAt,
  htmlAt,
  isBlank,
  isFenceEnd,
  isRule,
  isUnderline,
  type Line,
  type ListMark,
  listMarkAt,
  mayInterrupt,
  readRest,
  skipColumns,
  skipMark,
  skipQuoteMark,
  splitCells,
  tableRule,
} from "./lines.ts";
import {
  type BlockStart,
  type Container,
  createLeaf,
  type Item,
  type Leaf,
  type OpenLeaf,
  type Paragraph,
  type RawBlock,
  type TextRange,
  trimLeaf,
  type Work,
} from "./nodes.ts";

/** Below this depth, the marks of quotes and lists are text. */
const maxDepth = 32;
type Read = {
  blocks: RawBlock[];
  references: Definitions["references"];
  definitionEnds: readonly number[];
};

/** The state of reading the blocks of one text. */
type BlockReading = {
  readonly text: string;
  readonly work: Work;
  readonly definitions: Definitions;
  readonly root: Container;
  /** The containers that the next line may continue, from the root to the innermost. */
  readonly open: Container[];
  leaf: OpenLeaf | undefined;
  isAfterBlank: boolean;
  /** The offset of the line in the text. */
  lineStart: number;
};

/** `definitionEnds` holds the ends of the labels of link definitions. */
export function readBlocks({ text, work }: { text: string; work: Work }): Read {
  const reading = readLines({ text, work });
  closeLeaf(reading);
  const { root, definitions } = reading;
  return { ...definitions, blocks: root.blocks };
}

/** If the text ends within a fence, returns the line that opens it, with a line end. Otherwise returns "". */
export function readOpenFence({ text, work }: { text: string; work: Work }): string {
  const { leaf } = readLines({ text, work });
  if (leaf?.type !== "fence") return "";
  const [opening = ""] = text.slice(leaf.place.start).split("\n", 1);
  return `${opening}\n`;
}

function readLines({ text, work }: { text: string; work: Work }): BlockReading {
  const root: Container = { type: "root", blocks: [] };
  const reading: BlockReading = {
    text,
    work,
    definitions: { references: new Map(), definitionEnds: [], work },
    root,
    open: [root],
    leaf: undefined,
    isAfterBlank: false,
    lineStart: 0,
  };
  for (const line of text.split("\n")) {
    work.spend(line.length + 1);
    readLine(reading, createLine(line));
    reading.lineStart += line.length + 1;
  }
  return reading;
}

function readLine(reading: BlockReading, line: Line): void {
  const matched = matchContainers(reading, line);
  const isWhole = matched === reading.open.length;
  if (reading.leaf !== undefined && isWhole && continuesLeaf(reading, line)) return;
  if (reading.leaf !== undefined && !isWhole && reading.leaf.type !== "paragraph")
    closeTo(reading, matched);
  const depth = beginBlocks(reading, { line, matched });
  if (depth === undefined) return;
  if (isBlank(line)) {
    closeTo(reading, depth);
    reading.isAfterBlank = true;
    return;
  }
  // A paragraph continues in lines without the marks of its quote or list.
  if (reading.leaf?.type !== "paragraph") closeTo(reading, depth);
  addText(reading, line);
}

/** Counts the open containers that continue in the line. */
function matchContainers(reading: BlockReading, line: Line): number {
  let matched = 1;
  for (; matched < reading.open.length; matched += 1) {
    reading.work.spend(1);
    const container = reading.open[matched];
    if (container?.type === "quote") {
      if (line.indent > 3 || line.text[line.nonspace] !== ">") break;
      skipQuoteMark(line);
    } else if (container?.type === "item") {
      const isEmptyItem = container.blocks.length === 0 && reading.leaf === undefined;
      if (isBlank(line) ? isEmptyItem : line.indent < container.contentIndent) break;
      skipColumns(line, container.contentIndent);
    }
  }
  return matched;
}

/** Returns true if the open leaf takes the line. Closes the leaf if it ends before the line. */
function continuesLeaf(reading: BlockReading, line: Line): boolean {
  const end = reading.lineStart + line.text.length;
  switch (reading.leaf?.type) {
    case "fence":
      reading.leaf.place.end = end;
      if (line.indent <= 3 && isFenceEnd(line.text, line.nonspace, reading.leaf.fence))
        closeFence(reading, reading.leaf, true);
      else {
        skipColumns(line, Math.min(reading.leaf.indent, line.indent));
        reading.leaf.texts.push(readRest(line));
      }
      return true;
    case "html":
      if (reading.leaf.html.end === undefined && isBlank(line)) {
        closeLeaf(reading);
        return false;
      }
      reading.leaf.texts.push(line.text.slice(line.offset));
      reading.leaf.place.end = end;
      if (reading.leaf.html.end?.test(line.text)) closeLeaf(reading);
      return true;
    case "indented":
      if (line.indent < 4 && !isBlank(line)) {
        closeLeaf(reading);
        return false;
      }
      reading.isAfterBlank = isBlank(line);
      reading.leaf.place.end = end;
      skipColumns(line, Math.min(4, line.indent));
      reading.leaf.texts.push(readRest(line));
      return true;
    case "table":
      if (isBlank(line) || line.indent > 3 || endsTable(line)) {
        closeLeaf(reading);
        return false;
      }
      // GitHub ignores cells beyond the header. They are kept here, so that nothing of an answer is lost.
      reading.leaf.rows.push(cellLeaves(line, reading.lineStart));
      return true;
    case "paragraph":
      return beginsTable(reading, line);
    default:
      return false;
  }
}

/** Opens the blocks that start in the line. Returns the depth of the remaining text, or undefined if none remains. */
function beginBlocks(
  reading: BlockReading,
  request: {
    line: Line;
    matched: number;
  },
): number | undefined {
  const { line, matched } = request;
  const { text: lineText } = line;
  let depth = matched;
  while (!isBlank(line)) {
    reading.work.spend(lineText.length - line.offset + 1);
    const isInterrupting = reading.leaf?.type === "paragraph" && depth === reading.open.length;
    if (line.indent > 3) {
      if (reading.leaf?.type === "paragraph") return depth;
      closeTo(reading, depth);
      reading.leaf = {
        type: "indented",
        ...beginBlock(reading, line),
        texts: [],
        place: restOfLine(reading, line, 0),
      };
      skipColumns(line, 4);
      reading.leaf.texts.push(readRest(line));
      return undefined;
    }
    const at = line.nonspace;
    const mark =
      reading.open.length <= maxDepth || depth < reading.open.length
        ? listMarkAt(lineText, at)
        : undefined;
    const heading = headingAt(lineText, at);
    if (lineText[at] === ">" && depth <= maxDepth) {
      closeTo(reading, depth);
      const quote: RawBlock = { type: "quote", ...beginBlock(reading, line), blocks: [] };
      innermost(reading).blocks.push(quote);
      reading.open.push({ type: "quote", blocks: quote.blocks });
      skipQuoteMark(line);
    } else if (heading !== undefined) {
      closeTo(reading, depth);
      const content = lineText.slice(heading.start, heading.end);
      add(reading, {
        type: "heading",
        ...beginBlock(reading, line),
        leaf: createLeaf(content, reading.lineStart + heading.start),
      });
      return undefined;
    } else if (isInterrupting && isUnderline(lineText, at) && closeAsHeading(reading)) {
      return undefined;
    } else if (isRule(lineText, at)) {
      closeTo(reading, depth);
      add(reading, { type: "hr", ...beginBlock(reading, line) });
      return undefined;
    } else if (
      mark !== undefined &&
      depth <= maxDepth &&
      (!isInterrupting || mayInterrupt(lineText, at, mark))
    ) {
      closeTo(reading, depth);
      openItem(reading, line, mark);
    } else {
      const isTaken =
        beginsCode(reading, { line, depth }) ||
        beginsHtml(reading, { line, depth, isInterrupting });
      return isTaken ? undefined : depth;
    }
    depth = reading.open.length;
  }
  return depth;
}

function beginsCode(
  reading: BlockReading,
  { line, depth }: { line: Line; depth: number },
): boolean {
  const fence = fenceAt(line.text, line.nonspace);
  if (fence === undefined) return false;
  closeTo(reading, depth);
  reading.leaf = {
    type: "fence",
    ...beginBlock(reading, line),
    fence,
    indent: line.indent,
    texts: [],
    place: restOfLine(reading, line, 0),
  };
  return true;
}

function beginsHtml(
  reading: BlockReading,
  request: {
    line: Line;
    depth: number;
    isInterrupting: boolean;
  },
): boolean {
  const { line, depth, isInterrupting } = request;
  const html = htmlAt(line.text, line.nonspace);
  if (
    html === undefined ||
    (reading.leaf?.type === "paragraph" && !html.interrupts && isInterrupting)
  )
    return false;
  closeTo(reading, depth);
  const texts = [line.text.slice(line.offset)];
  reading.leaf = {
    type: "html",
    ...beginBlock(reading, line),
    html,
    texts,
    place: restOfLine(reading, line, line.offset),
  };
  if (html.end?.test(line.text.slice(line.nonspace + 2))) closeLeaf(reading);
  return true;
}

function openItem(reading: BlockReading, line: Line, mark: ListMark): void {
  const { indent } = line;
  const precedingBlock = innermost(reading).blocks.at(-1);
  const start = beginBlock(reading, line);
  const list: Extract<RawBlock, { type: "list" }> =
    precedingBlock?.type === "list" && precedingBlock.kind === mark.kind
      ? precedingBlock
      : {
          type: "list",
          ...start,
          kind: mark.kind,
          isOrdered: mark.number !== undefined,
          start: mark.number ?? 1,
          items: [],
        };
  if (list !== precedingBlock) innermost(reading).blocks.push(list);
  skipMark(line, mark.length);
  const isWide = isBlank(line) || line.indent > 4;
  const blanks = isWide ? 1 : line.indent;
  skipColumns(line, blanks);
  const item: Item = {
    type: "item",
    at: start.at,
    blocks: [],
    contentIndent: indent + mark.length + blanks,
  };
  list.items.push(item);
  reading.open.push(item);
}

function addText(reading: BlockReading, line: Line): void {
  if (reading.leaf?.type !== "paragraph")
    reading.leaf = {
      type: "paragraph",
      ...beginBlock(reading, line),
      texts: [],
      lines: [],
      length: 0,
    };
  const lineText = line.text.slice(line.nonspace);
  reading.leaf.lines.push({ at: reading.leaf.length, source: reading.lineStart + line.nonspace });
  reading.leaf.texts.push(lineText);
  reading.leaf.length += lineText.length + 1;
  reading.isAfterBlank = false;
}

/** Returns true if the line is the delimiter row of a table. The last line of the paragraph is its header then. */
function beginsTable(reading: BlockReading, line: Line): boolean {
  if (reading.leaf?.type !== "paragraph" || line.indent > 3) return false;
  reading.work.spend(reading.leaf.texts.at(-1)?.length ?? 0);
  const table = tableBelow(reading.leaf, line);
  if (table === undefined) return false;
  closeLeaf(reading);
  reading.leaf = table;
  return true;
}

/** Turns the paragraph into a heading, unless it consists of definitions. */
function closeAsHeading(reading: BlockReading): boolean {
  if (reading.leaf?.type !== "paragraph") return false;
  const { isApart, at } = reading.leaf;
  const headingLeaf = withoutDefinitions(reading.leaf, reading.definitions);
  reading.leaf = undefined;
  add(
    reading,
    headingLeaf === undefined
      ? { type: "definitions", isApart, at }
      : { type: "heading", isApart, at, leaf: trimLeaf(headingLeaf) },
  );
  return headingLeaf !== undefined;
}

function closeTo(reading: BlockReading, depth: number): void {
  closeLeaf(reading);
  reading.open.length = depth;
}

function closeLeaf(reading: BlockReading): void {
  const closing = reading.leaf;
  reading.leaf = undefined;
  if (closing === undefined) return;
  const { isApart, at } = closing;
  switch (closing.type) {
    case "paragraph": {
      const leaf = withoutDefinitions(closing, reading.definitions);
      if (leaf !== undefined) add(reading, { type: "paragraph", isApart, at, leaf });
      else if (closing.texts.length > 0) add(reading, { type: "definitions", isApart, at });
      return;
    }
    case "fence":
      closeFence(reading, closing, false);
      return;
    case "indented": {
      const { texts, place } = closing;
      const text = texts.join("\n").trimEnd();
      add(reading, { type: "code", isApart, at, text, lang: "", place });
      return;
    }
    case "html": {
      const { texts, place } = closing;
      add(reading, { type: "html", isApart, at, text: texts.join("\n"), place });
      return;
    }
    case "table":
      add(reading, tableBlock(closing, reading.text));
  }
}

type OpenFence = Extract<OpenLeaf, { type: "fence" }>;

function closeFence(reading: BlockReading, closing: OpenFence, isClosed: boolean): void {
  const { isApart, at, texts, place } = closing;
  const { mark, length, lang } = closing.fence;
  const fence = { marks: mark.repeat(length), isClosed };
  reading.leaf = undefined;
  add(reading, { type: "code", isApart, at, text: texts.join("\n"), lang, place, fence });
}

function add(reading: BlockReading, block: RawBlock): void {
  innermost(reading).blocks.push(block);
}

function innermost(reading: BlockReading): Container {
  return reading.open.at(-1) ?? reading.root;
}

function beginBlock(reading: BlockReading, line: Line): BlockStart {
  const { isAfterBlank: isApart, lineStart } = reading;
  reading.isAfterBlank = false;
  return { isApart, at: lineStart + line.nonspace };
}

function restOfLine({ lineStart }: BlockReading, { text }: Line, offset: number): TextRange {
  return { start: lineStart + offset, end: lineStart + text.length };
}

/** Bounds the output, because a wide header above many short rows would become many times longer than the text. */
const maxCells = 20_000;

type OpenTable = Extract<OpenLeaf, { type: "table" }>;

/** Starts the table with `line` as its delimiter row. Moves the last line of the paragraph into the header. */
function tableBelow(paragraph: Paragraph, line: Line): OpenTable | undefined {
  const align = tableRule(line.text.slice(line.offset));
  const [last, place] = [paragraph.texts.at(-1), paragraph.lines.at(-1)];
  if (align === undefined || last === undefined || place === undefined) return undefined;
  const header = splitCells(last).map(({ start, end }) =>
    createLeaf(last.slice(start, end), place.source + start),
  );
  if (header.length !== align.length) return undefined;
  paragraph.texts.pop();
  paragraph.lines.pop();
  return {
    type: "table",
    isApart: paragraph.texts.length === 0 && paragraph.isApart,
    at: place.source,
    header,
    align,
    rows: [],
  };
}

/** True if the line starts another block. */
function endsTable({ text: lineText, nonspace }: Line): boolean {
  const mark = listMarkAt(lineText, nonspace);
  return (
    lineText[nonspace] === ">" ||
    headingAt(lineText, nonspace) !== undefined ||
    fenceAt(lineText, nonspace) !== undefined ||
    isRule(lineText, nonspace) ||
    htmlAt(lineText, nonspace)?.interrupts === true ||
    (mark !== undefined && mayInterrupt(lineText, nonspace, mark))
  );
}

function cellLeaves({ text: lineText, offset }: Line, start: number): Leaf[] {
  const row = lineText.slice(offset);
  return splitCells(row).map((cell) =>
    createLeaf(row.slice(cell.start, cell.end), start + offset + cell.start),
  );
}

function tableBlock(table: OpenTable, text: string): RawBlock {
  const { isApart, at, header, rows } = table;
  if (header.length * rows.length <= maxCells) return table;
  const [first] = header;
  const last = rows.at(-1)?.at(-1) ?? first;
  const [from, to] = [sourceOf(first), sourceOf(last) + (last?.content.length ?? 0)];
  return { type: "paragraph", isApart, at, leaf: wholeLines({ text, from, to }) };
}

function sourceOf(leaf: Leaf | undefined): number {
  return leaf?.lines[0]?.source ?? 0;
}

/** Returns whole lines of the text, with the marks of quotes and lists. */
function wholeLines({ text, from, to }: { text: string; from: number; to: number }): Leaf {
  const start = text.lastIndexOf("\n", from) + 1;
  const end = text.indexOf("\n", to);
  return createLeaf(text.slice(start, end < 0 ? text.length : end), start);
}
