/** Formats CSV (RFC 4180) without formulas for a spreadsheet, and without control characters for a terminal. */
import { sanitizeLines } from "@sekisho/runtime/untrusted-input.ts";

/** One line without its end, which is CR LF. */
export function csvLine(cells: readonly (string | number | undefined)[]): string {
  return cells.map(csvCell).join(",");
}

function csvCell(cell: string | number | undefined): string {
  const text = typeof cell === "string" ? disarm(cell) : String(cell ?? "");
  return /[",;\t\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** With the quotation mark before it: a spreadsheet that splits elsewhere takes that for the cell's own. */
const formula = /(^|\r\n|[;\t\r\n])(?=["\p{Zs}]*[=+\-@＝＋－＠])|^(?=[\t\r\n])/gu;

/**
 * Puts an apostrophe before a text that a spreadsheet would run as a formula. Some spreadsheets split cells at semicolons or
 * tabs, even inside quotation marks, so the start of each such part counts too.
 */
function disarm(text: string): string {
  return sanitizeLines(text).replaceAll(formula, "$1'");
}
