/** A text in Markdown or mrkdwn as the blocks between which a reader would cut it. Pure. */

/**
 * `head` is repeated wherever the block is cut (the opening of a fence, the header of a table), `tail` closes each piece of it;
 * the lines of `body` are told once.
 */
export type TextBlock = {
  kind: "fence" | "table" | "list" | "heading" | "text";
  head: readonly string[];
  body: readonly string[];
  tail: readonly string[];
  /** An empty line stands before it. */
  isApart: boolean;
};

const fenceOpening = /^[ \t>]*(?<ticks>`{3,}(?=[^`]*$)|~{3,})/;
const tableRuleCell = /^:?-+:?$/;
/** Below the header of a table that stands in a fence. */
const fencedRule = /^-{3,}(?:\+-{3,})+$/;
const listItem = /^[ \t]*(?:[-*+•◦▪☐☑]|\d{1,9}[.)])[ \t]+\S/;
const heading = /^(?:#{1,6}[ \t]+\S.*|\*[^*\n]+\*)$/;

/** Empty lines outside of fences are in none of the blocks. */
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
    const { block, next } = fenceAt({ lines, at }) ?? tableAt({ lines, at }) ?? textAt({ lines, at });
    blocks.push({ ...block, isApart });
    isApart = false;
    at = next;
  }
  return blocks;
}

/** The lines of the block as they stand in a message. */
export function blockText({ head, body, tail }: TextBlock): string {
  return [...head, ...body, ...tail].join("\n");
}

export function joinBlocks(blocks: readonly TextBlock[]): string {
  return blocks.map((block, index) => jointBefore({ block, isFirst: index === 0 }) + blockText(block)).join("");
}

export function jointBefore({ block, isFirst }: { block: TextBlock; isFirst: boolean }): string {
  return isFirst ? "" : block.isApart ? "\n\n" : "\n";
}

/** What a line looks like that ends the fence which `line` opens; nothing where it opens none. */
export function closingOf(line: string): RegExp | undefined {
  const ticks = fenceOpening.exec(line)?.groups?.ticks;
  return ticks === undefined ? undefined : new RegExp(`^[ \\t>]*${ticks[0]}{${ticks.length},}[ \\t]*$`);
}

type Found = { block: Omit<TextBlock, "isApart">; next: number };
type Place = { lines: readonly string[]; at: number };

/** One that nobody closed is closed. */
function fenceAt({ lines, at }: Place): Found | undefined {
  const open = lines[at] ?? "";
  const closing = closingOf(open);
  if (closing === undefined) return undefined;
  const end = endOf({ lines, at: at + 1, ends: (line) => closing.test(line) });
  const isTable = fencedRule.test(lines[at + 2] ?? "") && at + 2 < end;
  const first = at + (isTable ? 3 : 1);
  const tail = lines[end] ?? /^[ \t>]*(?:`+|~+)/.exec(open)?.[0] ?? "";
  return {
    block: { kind: "fence", head: lines.slice(at, first), body: lines.slice(first, end), tail: [tail] },
    next: end + 1,
  };
}

function tableAt({ lines, at }: Place): Found | undefined {
  const rule = lines[at + 1] ?? "";
  if (!lines[at]?.includes("|") || !isTableRule(rule)) return undefined;
  const end = endOf({ lines, at: at + 2, ends: (line) => isEmpty(line) || !line.includes("|") });
  return {
    block: { kind: "table", head: lines.slice(at, at + 2), body: lines.slice(at + 2, end), tail: [] },
    next: end,
  };
}

/** Cell by cell: one expression for the whole line would try every way to divide a long run of blanks. */
function isTableRule(line: string): boolean {
  if (!line.includes("|")) return false;
  const cells = line.trim().replace(/^\|/, "").replace(/\|$/, "").split("|");
  return cells.every((cell) => tableRuleCell.test(cell.trim()));
}

function textAt({ lines, at }: Place): Found {
  const first = lines[at] ?? "";
  const kind = listItem.test(first) ? "list" : heading.test(first) ? "heading" : "text";
  const ends = (line: string, index: number) =>
    isEmpty(line) ||
    heading.test(line) ||
    fenceOpening.test(line) ||
    (kind === "text" && listItem.test(line)) ||
    tableAt({ lines, at: index }) !== undefined;
  const end = kind === "heading" ? at + 1 : endOf({ lines, at: at + 1, ends });
  return { block: { kind, head: [], body: lines.slice(at, end), tail: [] }, next: end };
}

function endOf({ lines, at, ends }: Place & { ends: (line: string, index: number) => boolean }): number {
  for (let index = at; index < lines.length; index += 1) if (ends(lines[index] ?? "", index)) return index;
  return lines.length;
}

function isEmpty(line: string | undefined): boolean {
  return (line ?? "").trim() === "";
}
