/** Tables for a terminal. */

type Cell = string | number | undefined;

/** Rows as lines with aligned columns. A column with a number in it is aligned to the right. */
export function formatTable(rows: readonly (readonly Cell[])[]): string[] {
  const columns: { width: number; isRight: boolean }[] = [];
  for (const row of rows) {
    for (const [at, cell = ""] of row.entries()) {
      const { width, isRight } = columns[at] ?? { width: 0, isRight: false };
      columns[at] = {
        width: Math.max(width, String(cell).length),
        isRight: isRight || typeof cell === "number",
      };
    }
  }
  return rows.map((row) => {
    const cells = row.map((cell = "", at) => {
      const { width = 0, isRight = false } = columns[at] ?? {};
      return isRight ? String(cell).padStart(width) : String(cell).padEnd(width);
    });
    return cells.join("  ").trimEnd();
  });
}
