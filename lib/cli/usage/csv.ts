/** CSV (RFC 4180) in which no spreadsheet finds a formula, and no terminal a command. */
import { sanitizeLines } from "../../../lambdas/shared/untrusted-input.ts";

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
 * A spreadsheet would calculate a text that begins so. An apostrophe before it makes it a text again. Where commas are decimal
 * points a spreadsheet splits at semicolons, others at tabs, and the quotation marks of RFC 4180 do not stop that.
 */
function disarm(text: string): string {
  return sanitizeLines(text).replaceAll(formula, "$1'");
}
