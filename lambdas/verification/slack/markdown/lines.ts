/** Reads one line of Markdown: its indent, with tabs, and the blocks that it starts or ends. */

export type Align = "left" | "right" | "center" | null;

/** A line with a reading position. Tab stops are four columns apart. */
export type Line = {
  readonly text: string;
  /** The reading position. */
  offset: number;
  /** The first character from there that is not a blank. */
  nonspace: number;
  /** Columns between `offset` and `nonspace`. */
  indent: number;
  column: number;
  nonspaceColumn: number;
};

export function createLine(text: string): Line {
  const line = { text, offset: 0, nonspace: 0, indent: 0, column: 0, nonspaceColumn: 0 };
  findNonspace(line);
  return line;
}

export function isBlank(line: Line): boolean {
  return line.nonspace >= line.text.length;
}

/** Skips columns of blanks. May stop within a tab. */
export function skipColumns(line: Line, columns: number): void {
  const target = Math.min(line.column + columns, line.nonspaceColumn);
  while (line.offset < line.nonspace) {
    const next = columnAfter(line.text, line.offset, line.column);
    if (next > target) break;
    line.column = next;
    line.offset += 1;
  }
  line.column = Math.max(line.column, target);
  line.indent = line.nonspaceColumn - line.column;
}

/** Skips blanks and then `length` characters. */
export function skipMark(line: Line, length: number): void {
  line.offset = line.nonspace + length;
  line.column = line.nonspaceColumn + length;
  findNonspace(line);
}

/** Skips `>` and one blank. */
export function skipQuoteMark(line: Line): void {
  skipMark(line, 1);
  if (!isBlank(line)) skipColumns(line, Math.min(1, line.indent));
}

/** Returns the rest of the line. Writes a partly skipped tab as blanks. */
export function readRest(line: Line): string {
  const isPartOfTab = line.text[line.offset] === "\t" && line.column % 4 !== 0;
  if (!isPartOfTab) return line.text.slice(line.offset);
  return " ".repeat(4 - (line.column % 4)) + line.text.slice(line.offset + 1);
}

function findNonspace(line: Line): void {
  let { offset, column } = line;
  while (line.text[offset] === " " || line.text[offset] === "\t") {
    column = columnAfter(line.text, offset, column);
    offset += 1;
  }
  line.nonspace = offset;
  line.nonspaceColumn = column;
  line.indent = column - line.column;
}

function columnAfter(text: string, offset: number, column: number): number {
  return text[offset] === "\t" ? column + 4 - (column % 4) : column + 1;
}

/** These expressions start at the first nonblank character and never backtrack over the line. */
const atxHeading = /(#{1,6})(?:\s+|$)(.*)$/sy;
const closingMarks = /(?:^|[ \t])#+[ \t]*$/;
const fence = /(`{3,}|~{3,})(.*)$/sy;
const rule = /(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,})$/y;
const underline = /(?:=+|-+)[ \t]*$/y;
const listMark = /(?:([-+*])|(\d{1,9})([.)]))(?=[ \t]|$)/y;

const blockTags =
  "address|article|aside|base|basefont|blockquote|body|caption|center|col|colgroup|dd|details|dialog|dir|div|dl|dt|fieldset|figcaption|figure|footer|form|frame|frameset|h[1-6]|head|header|hr|html|iframe|legend|li|link|main|menu|menuitem|meta|nav|noframes|ol|optgroup|option|p|param|search|section|summary|table|tbody|td|tfoot|th|thead|title|tr|track|ul";
/** Attributes may not contain `<`, so that the search for a tag's end stops at the next tag. */
const attributes =
  "(?:[ \\t]+[a-z_:][\\w.:-]*(?:[ \\t]*=[ \\t]*(?:\"[^\"<]*\"|'[^'<]*'|[^\\s\"'=<>`]+))?)*";
const wholeTag = new RegExp(
  `(?:<[a-z][a-z0-9-]*${attributes}[ \\t]*/?>|</[a-z][a-z0-9-]*[ \\t]*>)[ \\t]*$`,
  "iy",
);

/** The starts of HTML blocks. A block ends with the line that matches `end`, or else before an empty line. */
const htmlStarts: readonly { start: RegExp; end?: RegExp; interrupts: boolean }[] = [
  {
    start: /<(?:script|pre|style|textarea)(?:[\s>]|$)/iy,
    end: /<\/(?:script|pre|style|textarea)>/i,
    interrupts: true,
  },
  { start: /<!--/y, end: /-->/, interrupts: true },
  { start: /<\?/y, end: /\?>/, interrupts: true },
  { start: /<![a-z]/iy, end: />/, interrupts: true },
  { start: /<!\[CDATA\[/y, end: /\]\]>/, interrupts: true },
  { start: new RegExp(`</?(?:${blockTags})(?:[ \\t]|/?>|$)`, "iy"), interrupts: true },
  { start: wholeTag, interrupts: false },
];

/** `expression` must be sticky, or global to match behind `at`. */
export function matchAt(expression: RegExp, text: string, at: number): RegExpExecArray | undefined {
  expression.lastIndex = at;
  return expression.exec(text) ?? undefined;
}

/** Returns the range of the heading's text. */
export function headingAt(text: string, at: number): { start: number; end: number } | undefined {
  const found = matchAt(atxHeading, text, at);
  if (found === undefined) return undefined;
  const [, , said = ""] = found;
  const start = text.length - said.length;
  const inner = said.replace(closingMarks, "").trimEnd();
  return { start, end: start + inner.length };
}

export type Fence = { mark: string; length: number; lang: string };

export function fenceAt(text: string, at: number): Fence | undefined {
  const [, marks = "", info = ""] = matchAt(fence, text, at) ?? [];
  const [mark = ""] = marks;
  if (mark === "" || (mark === "`" && info.includes("`"))) return undefined;
  return { mark, length: marks.length, lang: info.trim() };
}

export function isFenceEnd(text: string, at: number, { mark, length }: Fence): boolean {
  let end = at;
  while (text[end] === mark) end += 1;
  return end - at >= length && text.slice(end).trim() === "";
}

export function isRule(text: string, at: number): boolean {
  return matchAt(rule, text, at) !== undefined;
}

export function isUnderline(text: string, at: number): boolean {
  return matchAt(underline, text, at) !== undefined;
}

/** `kind` is the same for all items of a list. */
export type ListMark = { kind: string; length: number; number: number | undefined };

export function listMarkAt(text: string, at: number): ListMark | undefined {
  const found = matchAt(listMark, text, at);
  if (found === undefined) return undefined;
  const [all, bullet, digits, end = ""] = found;
  return {
    kind: bullet ?? end,
    length: all.length,
    number: digits === undefined ? undefined : Number(digits),
  };
}

/** A list may follow a line of text directly only if it starts with 1 and has content. So `2024. That` stays text. */
export function mayInterrupt(text: string, at: number, { number = 1, length }: ListMark): boolean {
  return number === 1 && text.slice(at + length).trim() !== "";
}

/** `end` matches the last line. Without it, the block ends before an empty line. */
export type HtmlStart = { end?: RegExp; interrupts: boolean };

export function htmlAt(text: string, at: number): HtmlStart | undefined {
  if (text[at] !== "<") return undefined;
  return htmlStarts.find(({ start }) => matchAt(start, text, at) !== undefined);
}

/** Reads the delimiter row of a table. Returns undefined for any other line. */
export function tableRule(line: string): Align[] | undefined {
  if (!/^[ \t|:-]+$/.test(line) || !/[|:]/.test(line)) return undefined;
  const aligns: Align[] = [];
  for (const { start, end } of splitCells(line)) {
    const cell = line.slice(start, end);
    if (!/^:?-+:?$/.test(cell)) return undefined;
    const [isLeft, isRight] = [cell.startsWith(":"), cell.endsWith(":")];
    aligns.push(isLeft && isRight ? "center" : isRight ? "right" : isLeft ? "left" : null);
  }
  return aligns.length === 0 ? undefined : aligns;
}

/** Returns the cells of a table row without the blanks around them. */
export function splitCells(line: string): { start: number; end: number }[] {
  const cells: { start: number; end: number }[] = [];
  let from = 0;
  for (let at = 0; at < line.length; at += 1) {
    if (line[at] === "\\") at += 1;
    else if (line[at] === "|") {
      cells.push(trimRange(line, from, at));
      from = at + 1;
    }
  }
  cells.push(trimRange(line, from, line.length));
  const isEmpty = (cell: { start: number; end: number } | undefined) =>
    cell !== undefined && cell.start >= cell.end;
  if (isEmpty(cells[0])) cells.shift();
  if (isEmpty(cells.at(-1))) cells.pop();
  return cells;
}

function trimRange(line: string, from: number, to: number): { start: number; end: number } {
  let [start, end] = [from, to];
  while (start < end && isBlankAt(line, start)) start += 1;
  while (end > start && isBlankAt(line, end - 1)) end -= 1;
  return { start, end };
}

function isBlankAt(line: string, at: number): boolean {
  return line[at] === " " || line[at] === "\t";
}
