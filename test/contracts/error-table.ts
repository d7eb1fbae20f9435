/** The table of reasons and dialects of docs/reference/contract.md, read cell by cell: the code's own table is compared with it. */
import { sectionOf, tablesIn, textOf } from "../docs/pages.ts";

const page = textOf("docs/reference/contract.md");
const [reasonRows = []] = tablesIn(sectionOf(page, "## Errors"));
const [, numberRows = []] = tablesIn(sectionOf(page, "### Dialects"));

export const errorTable = numberRows.map((cells, index) => {
  const [reason = "", zone = "", strict = "", a2a = "", cleveragents = "", vapora = "", http] =
    cells.map((cell) => cell.replaceAll("`", ""));
  const [reasonCell = "", retry] = reasonRows[index] ?? [];
  if (reasonCell !== `\`${reason}\``)
    throw new Error(
      `The tables of docs/reference/contract.md differ in row ${index}: ${reasonCell}, ${reason}.`,
    );
  const texts: Readonly<Record<string, string>> = {
    zone,
    "zone-strict": strict,
    a2a,
    "a2a-0.3": a2a,
    cleveragents,
    vapora,
  };
  return { reason, retryable: retry === "yes", cells: texts, http: Number(http) };
});

export function numbersIn(cell: string): readonly number[] {
  return (cell.match(/-\d+/g) ?? []).map(Number);
}

/** The task state that a cell names beside its number. */
export function stateIn(cell: string): string | undefined {
  return cell.match(/the state (\w+)/)?.[1]?.toLowerCase();
}
