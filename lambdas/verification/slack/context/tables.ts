/** Writes Markdown tables: of `table` and `data_table` blocks (people paste the first from a spreadsheet), and of charts. */

import { inlineText, richTextToMarkdown } from "./rich-text.ts";
import { type Fields, fieldsOf, joinParagraphs, listOf, type Reading, textOf } from "./values.ts";

/** The rows of a data table, whose first one is the header. A table block has at most 100. */
const maxRows = 101;
const maxColumns = 20;

export function tableText({ rows, caption }: Fields, reading: Reading): string {
  const cells = listOf(rows, reading)
    .slice(0, maxRows)
    .map((row) =>
      listOf(row, reading)
        .slice(0, maxColumns)
        .map((cell) => cellText(fieldsOf(cell), reading)),
    );
  return joinParagraphs([textOf(caption, reading), writeTable(cells)]);
}

function cellText({ type, elements, text, value }: Fields, reading: Reading): string {
  if (type === "rich_text") return richTextToMarkdown(elements, reading);
  if (Array.isArray(elements)) return inlineText(elements, reading);
  if (typeof value === "number" && typeof text !== "string") return String(value);
  return textOf(typeof text === "string" ? text : fieldsOf(text).text, reading);
}

/** Markdown takes the first row as the header. Every row gets as many cells as the longest one. */
function writeTable(rows: readonly (readonly string[])[]): string {
  const columns = Math.max(0, ...rows.map(({ length }) => length));
  if (columns === 0) return "";
  const [header = [], ...others] = rows.map((row) =>
    Array.from({ length: columns }, (_, index) => row[index] ?? ""),
  );
  const rule = header.map(() => "---");
  return [header, rule, ...others].map(writeRow).join("\n");
}

function writeRow(cells: readonly string[]): string {
  const cellTexts = cells.map((cell) =>
    cell
      .split("\n")
      .flatMap((line) => line.trim() || [])
      .join(" ")
      .replaceAll("|", "\\|"),
  );
  return `| ${cellTexts.join(" | ")} |`;
}

/**
 * A pie has segments with a value each, and other charts have series over the same labels. Every label makes a cell in every series, so both
 * numbers are limited.
 */
export function chartText({ title, chart }: Fields, reading: Reading): string {
  const { segments, series } = fieldsOf(chart);
  const toText = (value: unknown) =>
    typeof value === "number" ? String(value) : textOf(value, reading);
  const points = (value: unknown) =>
    listOf(value, reading)
      .slice(0, maxRows)
      .map((point) => {
        const { label, value: size } = fieldsOf(point);
        return { label: toText(label), value: toText(size) };
      });
  const columns = Array.isArray(segments)
    ? [{ name: "", data: points(segments) }]
    : listOf(series, reading)
        .slice(0, maxColumns)
        .map((one) => ({ name: toText(fieldsOf(one).name), data: points(fieldsOf(one).data) }));
  const labels = columns[0]?.data.map(({ label }) => label) ?? [];
  const rows = labels.map((label, index) => [
    label,
    ...columns.map(({ data }) => data[index]?.value ?? ""),
  ]);
  return joinParagraphs([
    titleText(title, reading),
    writeTable([["", ...columns.map(({ name }) => name)], ...rows]),
  ]);
}

function titleText(title: unknown, reading: Reading): string {
  return textOf(typeof title === "string" ? title : fieldsOf(title).text, reading);
}
