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
  type Container,
  createLeaf,
  type Item,
  type Leaf,
  type OpenLeaf,
  type Paragraph,
  type RawBlock,
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

/** `definitionEnds` holds the ends of the labels of link definitions. */
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: listed until it is cut along its topics.
export function readBlocks({ text, work }: { text: string; work: Work }): Read {
  const references: Definitions["references"] = new Map();
  const definitionEnds: number[] = [];
  const definitions = { references, definitionEnds, work };
  const root: Container = { type: "root", blocks: [] };
  const open: Container[] = [root];
  let leaf: OpenLeaf | undefined;
  let isAfterBlank = false;

  let source = 0;
  for (const line of text.split("\n")) {
    work.spend(line.length + 1);
    readLine(createLine(line), source);
    source += line.length + 1;
  }
  closeLeaf();
  return { blocks: root.blocks, references, definitionEnds };

  function readLine(line: Line, start: number): void {
    const matched = matchContainers(line);
    const isWhole = matched === open.length;
    if (leaf !== undefined && isWhole && continuesLeaf(line, start)) return;
    if (leaf !== undefined && !isWhole && leaf.type !== "paragraph") closeTo(matched);
    const depth = beginBlocks({ line, start, matched });
    if (depth === undefined) return;
    if (isBlank(line)) {
      closeTo(depth);
      isAfterBlank = true;
      return;
    }
    // A paragraph continues in lines without the marks of its quote or list.
    if (leaf?.type !== "paragraph") closeTo(depth);
    addText(line, start);
  }

  /** Counts the open containers that continue in the line. */
  function matchContainers(line: Line): number {
    let matched = 1;
    for (; matched < open.length; matched += 1) {
      work.spend(1);
      const container = open[matched];
      if (container?.type === "quote") {
        if (line.indent > 3 || line.text[line.nonspace] !== ">") break;
        skipQuoteMark(line);
      } else if (container?.type === "item") {
        const isEmptyItem = container.blocks.length === 0 && leaf === undefined;
        if (isBlank(line) ? isEmptyItem : line.indent < container.contentIndent) break;
        skipColumns(line, container.contentIndent);
      }
    }
    return matched;
  }

  /** Returns true if the open leaf takes the line. Closes the leaf if it ends before the line. */
  function continuesLeaf(line: Line, start: number): boolean {
    const end = start + line.text.length;
    switch (leaf?.type) {
      case "fence":
        leaf.end = end;
        if (line.indent <= 3 && isFenceEnd(line.text, line.nonspace, leaf.fence)) closeLeaf();
        else {
          skipColumns(line, Math.min(leaf.indent, line.indent));
          leaf.texts.push(readRest(line));
        }
        return true;
      case "html":
        if (leaf.html.end === undefined && isBlank(line)) {
          closeLeaf();
          return false;
        }
        leaf.texts.push(line.text.slice(line.offset));
        leaf.end = end;
        if (leaf.html.end?.test(line.text)) closeLeaf();
        return true;
      case "indented":
        if (line.indent < 4 && !isBlank(line)) {
          closeLeaf();
          return false;
        }
        isAfterBlank = isBlank(line);
        leaf.end = end;
        skipColumns(line, Math.min(4, line.indent));
        leaf.texts.push(readRest(line));
        return true;
      case "table":
        if (isBlank(line) || line.indent > 3 || endsTable(line)) {
          closeLeaf();
          return false;
        }
        // GitHub ignores cells beyond the header. They are kept here, so that nothing of an answer is lost.
        leaf.rows.push(cellLeaves(line, start));
        return true;
      case "paragraph":
        return beginsTable(line);
      default:
        return false;
    }
  }

  /** Opens the blocks that start in the line. Returns the depth of the remaining text, or undefined if none remains. */
  function beginBlocks(request: {
    line: Line;
    start: number;
    matched: number;
  }): number | undefined {
    const { line, start, matched } = request;
    const { text: said } = line;
    let depth = matched;
    while (!isBlank(line)) {
      work.spend(said.length - line.offset + 1);
      const isInterrupting = leaf?.type === "paragraph" && depth === open.length;
      if (line.indent > 3) {
        if (leaf?.type === "paragraph") return depth;
        closeTo(depth);
        leaf = {
          type: "indented",
          isApart: takeApart(),
          texts: [],
          start,
          end: start + said.length,
        };
        skipColumns(line, 4);
        leaf.texts.push(readRest(line));
        return undefined;
      }
      const at = line.nonspace;
      const mark =
        open.length <= maxDepth || depth < open.length ? listMarkAt(said, at) : undefined;
      const heading = headingAt(said, at);
      if (said[at] === ">" && depth <= maxDepth) {
        closeTo(depth);
        const quote: RawBlock = { type: "quote", isApart: takeApart(), blocks: [] };
        innermost().blocks.push(quote);
        open.push({ type: "quote", blocks: quote.blocks });
        skipQuoteMark(line);
      } else if (heading !== undefined) {
        closeTo(depth);
        const content = said.slice(heading.start, heading.end);
        add({
          type: "heading",
          isApart: takeApart(),
          leaf: createLeaf(content, start + heading.start),
        });
        return undefined;
      } else if (isInterrupting && isUnderline(said, at) && closeAsHeading()) {
        return undefined;
      } else if (isRule(said, at)) {
        closeTo(depth);
        add({ type: "hr", isApart: takeApart() });
        return undefined;
      } else if (
        mark !== undefined &&
        depth <= maxDepth &&
        (!isInterrupting || mayInterrupt(said, at, mark))
      ) {
        closeTo(depth);
        openItem(line, mark);
      } else {
        const isTaken =
          beginsCode({ line, start, depth }) || beginsHtml({ line, start, depth, isInterrupting });
        return isTaken ? undefined : depth;
      }
      depth = open.length;
    }
    return depth;
  }

  function beginsCode({
    line,
    start,
    depth,
  }: {
    line: Line;
    start: number;
    depth: number;
  }): boolean {
    const fence = fenceAt(line.text, line.nonspace);
    if (fence === undefined) return false;
    closeTo(depth);
    const end = start + line.text.length;
    leaf = {
      type: "fence",
      isApart: takeApart(),
      fence,
      indent: line.indent,
      texts: [],
      start,
      end,
    };
    return true;
  }

  function beginsHtml(request: {
    line: Line;
    start: number;
    depth: number;
    isInterrupting: boolean;
  }): boolean {
    const { line, start, depth, isInterrupting } = request;
    const html = htmlAt(line.text, line.nonspace);
    if (html === undefined || (leaf?.type === "paragraph" && !html.interrupts && isInterrupting))
      return false;
    closeTo(depth);
    const texts = [line.text.slice(line.offset)];
    const end = start + line.text.length;
    leaf = { type: "html", isApart: takeApart(), html, texts, start: start + line.offset, end };
    if (html.end?.test(line.text.slice(line.nonspace + 2))) closeLeaf();
    return true;
  }

  function openItem(line: Line, mark: ListMark): void {
    const { indent } = line;
    const before = innermost().blocks.at(-1);
    const isApart = takeApart();
    const list: Extract<RawBlock, { type: "list" }> =
      before?.type === "list" && before.kind === mark.kind
        ? before
        : {
            type: "list",
            isApart,
            kind: mark.kind,
            isOrdered: mark.number !== undefined,
            start: mark.number ?? 1,
            items: [],
          };
    if (list !== before) innermost().blocks.push(list);
    skipMark(line, mark.length);
    const isWide = isBlank(line) || line.indent > 4;
    const blanks = isWide ? 1 : line.indent;
    skipColumns(line, blanks);
    const item: Item = { type: "item", blocks: [], contentIndent: indent + mark.length + blanks };
    list.items.push(item);
    open.push(item);
  }

  function addText(line: Line, start: number): void {
    if (leaf?.type !== "paragraph")
      leaf = { type: "paragraph", isApart: takeApart(), texts: [], lines: [], length: 0 };
    const said = line.text.slice(line.nonspace);
    leaf.lines.push({ at: leaf.length, source: start + line.nonspace });
    leaf.texts.push(said);
    leaf.length += said.length + 1;
    isAfterBlank = false;
  }

  /** Returns true if the line is the delimiter row of a table. The last line of the paragraph is its header then. */
  function beginsTable(line: Line): boolean {
    if (leaf?.type !== "paragraph" || line.indent > 3) return false;
    work.spend(leaf.texts.at(-1)?.length ?? 0);
    const table = tableBelow(leaf, line);
    if (table === undefined) return false;
    closeLeaf();
    leaf = table;
    return true;
  }

  /** Turns the paragraph into a heading, unless it consists of definitions. */
  function closeAsHeading(): boolean {
    if (leaf?.type !== "paragraph") return false;
    const said = withoutDefinitions(leaf, definitions);
    const { isApart } = leaf;
    leaf = undefined;
    if (said === undefined) return false;
    add({ type: "heading", isApart, leaf: trimLeaf(said) });
    return true;
  }

  function closeTo(depth: number): void {
    closeLeaf();
    open.length = depth;
  }

  function closeLeaf(): void {
    const closing = leaf;
    leaf = undefined;
    if (closing === undefined) return;
    const { isApart } = closing;
    switch (closing.type) {
      case "paragraph": {
        const said = withoutDefinitions(closing, definitions);
        if (said !== undefined) add({ type: "paragraph", isApart, leaf: said });
        return;
      }
      case "fence":
        add({
          type: "code",
          isApart,
          text: closing.texts.join("\n"),
          lang: closing.fence.lang,
          place: closing,
        });
        return;
      case "indented":
        add({
          type: "code",
          isApart,
          text: closing.texts.join("\n").trimEnd(),
          lang: "",
          place: closing,
        });
        return;
      case "html":
        add({ type: "html", isApart, text: closing.texts.join("\n"), place: closing });
        return;
      case "table":
        add(tableBlock(closing, text));
    }
  }

  function add(block: RawBlock): void {
    innermost().blocks.push(block);
  }

  function innermost(): Container {
    return open.at(-1) ?? root;
  }

  function takeApart(): boolean {
    const isApart = isAfterBlank;
    isAfterBlank = false;
    return isApart;
  }
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
    header,
    align,
    rows: [],
  };
}

/** True if the line starts another block. */
function endsTable({ text: said, nonspace }: Line): boolean {
  const mark = listMarkAt(said, nonspace);
  return (
    said[nonspace] === ">" ||
    headingAt(said, nonspace) !== undefined ||
    fenceAt(said, nonspace) !== undefined ||
    isRule(said, nonspace) ||
    htmlAt(said, nonspace)?.interrupts === true ||
    (mark !== undefined && mayInterrupt(said, nonspace, mark))
  );
}

function cellLeaves({ text: said, offset }: Line, start: number): Leaf[] {
  const row = said.slice(offset);
  return splitCells(row).map((cell) =>
    createLeaf(row.slice(cell.start, cell.end), start + offset + cell.start),
  );
}

function tableBlock({ isApart, header, align, rows }: OpenTable, text: string): RawBlock {
  if (header.length * rows.length <= maxCells)
    return { type: "table", isApart, header, align, rows };
  const [first] = header;
  const last = rows.at(-1)?.at(-1) ?? first;
  const [from, to] = [sourceOf(first), sourceOf(last) + (last?.content.length ?? 0)];
  return { type: "paragraph", isApart, leaf: wholeLines({ text, from, to }) };
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
