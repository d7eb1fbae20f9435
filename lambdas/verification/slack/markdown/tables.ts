/** Decides which tables Slack draws, and draws the others as fenced text. */
import { removeActiveEntities, removeNotation } from "./characters.ts";
import type { Cell, Table } from "./nodes.ts";
import { maxMarkdownLength } from "./split.ts";
import { groupBlocks, measureBlock, type TextBlock } from "./text-blocks.ts";
import { toPlainText } from "./visible-text.ts";

/** The limits of a table block (https://docs.slack.dev/reference/block-kit/blocks/table-block), into which Slack turns a Markdown table. */
const maxRows = 100;
const maxColumns = 20;
/** All cells of a table may hold 10,000 characters. Hyphens and bars also count here. */
const maxTableLength = 9_500;

/**
 * Keeps a table if Slack can draw it and no other table can get into the same message. Draws other tables as fenced text, which
 * lengthens the Markdown by the padding.
 */
export function drawTables(blocks: readonly TextBlock[]): TextBlock[] {
  let length = 0;
  let lastTableEnd = Number.NEGATIVE_INFINITY;
  return blocks.map(draw);

  function draw(block: TextBlock): TextBlock {
    const { table, pieces, joint, node } = block;
    if (pieces?.some((piece) => piece.table !== undefined))
      return { ...(groupBlocks(pieces.map(draw), joint) ?? block), node };
    const isAlone = length - lastTableEnd >= maxMarkdownLength;
    const isKept = table === undefined || (isAlone && canSlackDraw(block, table));
    const shownBlock = isKept ? block : fencedTable(block, table);
    length += joint.length + measureBlock(shownBlock, Number.POSITIVE_INFINITY);
    if (isKept && table !== undefined) lastTableEnd = length;
    return shownBlock;
  }
}

function canSlackDraw(block: TextBlock, { header, rows }: Table): boolean {
  const columns = header.length;
  const hasFewCells = columns <= maxColumns && rows.length < maxRows;
  // Slack does not document cells beyond the header, and GitHub Flavored Markdown (section 4.10) ignores them.
  return (
    hasFewCells &&
    measureBlock(block, maxTableLength) <= maxTableLength &&
    !rows.some((row) => row.slice(columns).some(({ children }) => children.length > 0))
  );
}

function fencedTable(block: TextBlock, table: Table): TextBlock {
  const { prefix } = block;
  const lines = tableLines(table).map((line) => prefix + line);
  const marks = `${prefix}\`\`\``;
  const head = [marks, ...lines.slice(0, tableHeadLines)];
  return { ...block, kind: "fence", head, body: lines.slice(tableHeadLines), tail: [marks] };
}

/** The header of a drawn table, and the rule below it. */
export const tableHeadLines = 2;

const minWidth = 3;
/** Column widths, tried in order until the padding is small enough. A longer cell is not cut. */
const maxWidths = [48, 24, 12, 6, 3];
/** The limit of the padding: blanks per character in cells, and blanks that every table may have. */
const maxBlanksPerCharacter = 2;
const blanksOfAnyTable = 200;

type Drawn = { text: string; width: number };

/**
 * Draws the header, a rule of hyphens and the rows. Chinese, Japanese and Korean letters take two columns. The result is not escaped.
 * Cells beyond the header are shown at the end of their row.
 */
export function tableLines({
  header,
  align,
  rows,
}: Pick<Table, "header" | "align" | "rows">): string[] {
  const cells = [header, ...rows].map(drawCells);
  const widths = columnWidths({ cells, columns: header.length });
  const line = (row: readonly Drawn[]) =>
    row
      .map((cell, column) =>
        padCell({ cell, width: widths[column] ?? 0, align: align[column] ?? "left" }),
      )
      .join(" | ")
      .trimEnd();
  const rule = widths
    .map((width, column) =>
      "-".repeat(Math.max(width, minWidth) + (column === 0 ? 1 : 2)).slice(edge(column)),
    )
    .join("+");
  const [head = [], ...others] = cells;
  return [line(head), rule, ...others.map(line)];

  function edge(column: number): number {
    return column === widths.length - 1 ? 1 : 0;
  }
}

/** Drops empty cells at the end of the row. */
function drawCells(row: readonly Cell[]): Drawn[] {
  const cells = row.map((cell) => {
    const text = cellText(cell);
    return { text, width: displayWidth(text) };
  });
  return cells.slice(0, cells.findLastIndex(({ text }) => text !== "") + 1);
}

/** Narrows the columns if one long cell among many short ones would make the table many times longer than its text. */
function columnWidths({
  cells,
  columns,
}: {
  cells: readonly (readonly Drawn[])[];
  columns: number;
}): number[] {
  const longest = Array.from({ length: columns }, () => minWidth);
  let length = 0;
  for (const row of cells) {
    for (const [column, { text, width }] of row.entries()) {
      length += text.length;
      if (column < columns) longest[column] = Math.max(longest[column] ?? 0, width);
    }
  }
  const most = length * maxBlanksPerCharacter + blanksOfAnyTable;
  const maxWidth =
    maxWidths.find((width) => countBlanks({ cells, longest, maxWidth: width }) <= most) ?? 0;
  return longest.map((width) => Math.min(width, maxWidth));
}

type Columns = {
  cells: readonly (readonly Drawn[])[];
  longest: readonly number[];
  maxWidth: number;
};

function countBlanks({ cells, longest, maxWidth }: Columns): number {
  let blanks = 0;
  for (const row of cells)
    for (const [column, { width }] of row.entries())
      blanks += Math.max(0, Math.min(longest[column] ?? 0, maxWidth) - width);
  return blanks;
}

/** Without formatting and with entities decoded, the text may have Slack's notation that the safe Markdown did not have. */
function cellText({ children }: Cell): string {
  const text = toPlainText(children).replace(/\s+/g, " ").replaceAll("```", "'''").trim();
  return removeNotation(removeActiveEntities(text));
}

function padCell({ cell, width, align }: { cell: Drawn; width: number; align: string }): string {
  const missing = Math.max(0, width - cell.width);
  const before = align === "right" ? missing : align === "center" ? Math.floor(missing / 2) : 0;
  return " ".repeat(before) + cell.text + " ".repeat(missing - before);
}

const graphemes = new Intl.Segmenter(undefined, { granularity: "grapheme" });
const wide =
  /[\u1100-\u115F\u2E80-\u303E\u3041-\uA4CF\uA960-\uA97F\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE6F\uFF01-\uFF60\uFFE0-\uFFE6\u{20000}-\u{3FFFD}]|\p{Emoji_Presentation}/u;

/** Each of these characters is one grapheme, so the slow segmenter is not needed. */
const single = /^[\x20-\x7e\u3001-\u3029\u3041-\u3096\u30A0-\u30FF\u4E00-\u9FFF\uFF01-\uFF60]*$/;

export function displayWidth(text: string): number {
  if (single.test(text)) return text.length + (text.match(/[^\x20-\x7e]/g)?.length ?? 0);
  let width = 0;
  for (const { segment } of graphemes.segment(text)) width += wide.test(segment) ? 2 : 1;
  return width;
}
