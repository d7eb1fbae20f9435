/** Reads README.md, CONTRIBUTING.md, SECURITY.md, the pages below docs/ and those of the examples: text, fenced blocks, tables, and every command in a block or within a sentence. */
import { globSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { commandLines } from "./shell-line.ts";

export const root = resolve(import.meta.dirname, "../../..");
export const pages = [
  "README.md",
  "CONTRIBUTING.md",
  "SECURITY.md",
  ...globSync(["docs/**/*.md", "examples/**/*.md"], { cwd: root }).sort(),
];
export const textOf = (page: string) => readFileSync(join(root, page), "utf8");

export type Documented = { page: string; command: string };

export function documentedCommands(): Documented[] {
  const shells = ["sh", "bash", "shell", "console"];
  const blocksOf = (page: string) => shells.flatMap((language) => blocksIn(textOf(page), language));
  return pages.flatMap((page) =>
    blocksOf(page)
      .flatMap(commandLines)
      .map((command) => ({ page, command })),
  );
}

/** Code within a sentence that begins with a program that readers type. */
export function inlineCommands(): Documented[] {
  return pages.flatMap((page) =>
    inlineCommandsIn(textOf(page)).map((command) => ({ page, command })),
  );
}

export function inlineCommandsIn(text: string): string[] {
  const typed =
    /^(?:(?:npx (?:--no-install )?)?sekisho [a-z<…]|npx cdk |node [a-z]+\/|(?:npm|docker|aws|ssh|git|gcloud|curl) \S)/;
  const spans = [...proseOf(text).matchAll(/`([^`]+)`/g)].map(([, code = ""]) =>
    code.replaceAll(/\s+/g, " "),
  );
  return spans.filter((code) => typed.test(code)).map((code) => code.replaceAll("\\|", "|"));
}

/** The text without its fenced blocks. */
export function proseOf(text: string): string {
  return text.replaceAll(/^ *```[\s\S]*?^ *```$/gm, "");
}

/** The fenced blocks of a language. One in a list loses its indent. */
export function blocksIn(text: string, language: string): string[] {
  return [...text.matchAll(/^( *)```(\w*)\n([\s\S]*?)^ *```$/gm)]
    .filter(([, , given]) => given === language)
    .map(([, indent = "", , block = ""]) => block.replaceAll(new RegExp(`^${indent}`, "gm"), ""));
}

/** The section below a heading, up to the next heading of its level or a higher one. */
export function sectionOf(text: string, heading: string): string {
  const [hashes = "#"] = /^#+/.exec(heading) ?? [];
  const [, after = ""] = text.split(`\n${heading}\n`);
  return after.split(new RegExp(`^#{1,${hashes.length}} `, "m"))[0] ?? "";
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
