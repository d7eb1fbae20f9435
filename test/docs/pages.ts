/** Reads README.md, CONTRIBUTING.md, SECURITY.md, and the pages of docs and examples: text, code, sections and tables. */
import { globSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";

export const root = resolve(import.meta.dirname, "../..");
export const pages = [
  "README.md",
  "CONTRIBUTING.md",
  "SECURITY.md",
  ...globSync(["docs/**/*.md", "examples/**/*.md"], { cwd: root }).sort(),
];
export const textOf = (page: string) => readFileSync(join(root, page), "utf8");

/** The text without its fenced blocks. */
export function proseOf(text: string): string {
  return text.replaceAll(/^ *```[\s\S]*?^ *```$/gm, "");
}

/** The fenced blocks of a language. One in a list loses its indent. */
export function blocksIn(text: string, language: string): string[] {
  return [...text.matchAll(/^( *)```(\w*)\n([\s\S]*?)^ *```$/gm)]
    .filter(([, , values]) => values === language)
    .map(([, indent = "", , block = ""]) => block.replaceAll(new RegExp(`^${indent}`, "gm"), ""));
}

/** The section below a heading, up to the next heading of its level or a higher one. */
export function sectionOf(text: string, heading: string): string {
  const [hashes = "#"] = /^#+/.exec(heading) ?? [];
  const [, newValue = ""] = text.split(`\n${heading}\n`);
  return newValue.split(new RegExp(`^#{1,${hashes.length}} `, "m"))[0] ?? "";
}

/** The rows of each table: their cells without the spaces around them. */
export function tablesIn(text: string): string[][][] {
  const tables = text.match(/^\|.*\n\|[-:| ]+\n(?:\|.*\n)+/gm) ?? [];
  return tables.map((table) => {
    const [, , ...rows] = table.trim().split("\n");
    return rows.map((row) =>
      row
        .split(/(?<!\\)\|/)
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );
  });
}
