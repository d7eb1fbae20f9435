/** CSV (RFC 4180) that no spreadsheet takes for formulas. Pure. */

type Cell = string | number | undefined;

/** One line without its end, which is CR LF. */
export function csvLine(cells: readonly Cell[]): string {
  return cells.map(csvCell).join(",");
}

function csvCell(cell: Cell): string {
  if (cell === undefined) return "";
  const text = typeof cell === "number" ? String(cell) : inert(cell);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** A text that begins so would be calculated by whoever opens the file; an apostrophe before it makes it a text again. */
function inert(text: string): string {
  return /^[=+\-@\t\r\n＝＋－＠]/.test(text) ? `'${text}` : text;
}
