/** CSV (RFC 4180) that no spreadsheet takes for formulas, wherever it takes a cell to begin, and no terminal for commands. */
import { sanitizeLines } from "../../../lambdas/shared/untrusted-input.ts";

type Cell = string | number | undefined;

/** One line without its end, which is CR LF. */
export function csvLine(cells: readonly Cell[]): string {
  return cells.map(csvCell).join(",");
}

function csvCell(cell: Cell): string {
  if (cell === undefined) return "";
  const text = typeof cell === "number" ? String(cell) : inert(cell);
  return /[",;\t\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** With the quotation mark that may stand before it: whoever splits elsewhere takes that for the cell's own. */
const formula = /(^|\r\n|[;\t\r\n])(?=["\p{Zs}]*[=+\-@＝＋－＠])|^(?=[\t\r\n])/gu;

/**
 * A text that begins so would be calculated by whoever opens the file; an apostrophe before it makes it a text again. Where commas
 * are decimal points a spreadsheet splits at semicolons, others at tabs, and the quotation marks of RFC 4180 do not hold it off.
 */
function inert(text: string): string {
  return sanitizeLines(text).replaceAll(formula, "$1'");
}
