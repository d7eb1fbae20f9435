/** Every command line of every fenced block for a shell in README.md and below docs/. */
import { globSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { commandLines } from "./shell-line.ts";

export const root = resolve(import.meta.dirname, "../../..");

export type Documented = { page: string; command: string };

export function documentedCommands(): Documented[] {
  const pages = ["README.md", ...globSync(["docs/*.md", "docs/decisions/*.md"], { cwd: root }).sort()];
  return pages.flatMap((page) =>
    shellBlocks(readFileSync(join(root, page), "utf8")).flatMap((block) => named(page, block)),
  );
}

function named(page: string, block: string): Documented[] {
  return commandLines(block).map((command) => ({ page, command }));
}

function shellBlocks(text: string): string[] {
  return [...text.matchAll(/^( *)```(?:sh|bash|shell|console)\n([\s\S]*?)^ *```$/gm)].map(
    ([, indent = "", block = ""]) => block.replaceAll(new RegExp(`^${indent}`, "gm"), ""),
  );
}
