/** A table as lines of equal width, for a code fence: what stands where Slack draws no table. Pure. */
import type { Tokens } from "marked";
import { inlinePlain } from "./markdown-inline.ts";

const minWidth = 3;
/** A cell that is longer runs on: to fill a column up to it would make the table many times longer than its text. */
const maxWidth = 48;

/** Header, a rule of hyphens, rows; a letter of Chinese, Japanese or Korean takes two columns. Not escaped. */
export function tableLines({ header, align, rows }: Pick<Tokens.Table, "header" | "align" | "rows">): string[] {
  const cells = [header, ...rows].map((row) => row.map(cellText));
  const widths = header.map((_, column) => widthOf(cells.map((row) => row[column] ?? "")));
  const line = (row: string[]) =>
    widths
      .map((width, column) => padded({ text: row[column] ?? "", width, align: align[column] ?? "left" }))
      .join(" | ")
      .trimEnd();
  const rule = widths.map((width, column) => "-".repeat(width + (column === 0 ? 1 : 2)).slice(edge(column))).join("+");
  const [head = [], ...others] = cells;
  return [line(head), rule, ...others.map(line)];

  function edge(column: number): number {
    return column === widths.length - 1 ? 1 : 0;
  }
}

function widthOf(texts: readonly string[]): number {
  const longest = texts.reduce((width, text) => Math.max(width, displayWidth(text)), minWidth);
  return Math.min(maxWidth, longest);
}

function cellText({ tokens }: Tokens.TableCell): string {
  return inlinePlain(tokens).replace(/\s+/g, " ").replaceAll("```", "'''").trim();
}

function padded({ text, width, align }: { text: string; width: number; align: string }): string {
  const missing = Math.max(0, width - displayWidth(text));
  const before = align === "right" ? missing : align === "center" ? Math.floor(missing / 2) : 0;
  return " ".repeat(before) + text + " ".repeat(missing - before);
}

const graphemes = new Intl.Segmenter(undefined, { granularity: "grapheme" });
const wide =
  /[\u1100-\u115F\u2E80-\u303E\u3041-\uA4CF\uA960-\uA97F\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE6F\uFF01-\uFF60\uFFE0-\uFFE6\u{20000}-\u{3FFFD}]|\p{Emoji_Presentation}/u;

export function displayWidth(text: string): number {
  if (/^[\x20-\x7e]*$/.test(text)) return text.length;
  let width = 0;
  for (const { segment } of graphemes.segment(text)) width += wide.test(segment) ? 2 : 1;
  return width;
}
