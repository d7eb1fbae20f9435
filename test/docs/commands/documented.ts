/** Every command line of every fenced block for a shell in README.md and below docs/, and every command within a sentence. */
import { globSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { commandLines } from "./shell-line.ts";

export const root = resolve(import.meta.dirname, "../../..");

export type Documented = { page: string; command: string };

const pages = ["README.md", ...globSync(["docs/*.md", "docs/decisions/*.md"], { cwd: root }).sort()];
const textOf = (page: string) => readFileSync(join(root, page), "utf8");

export function documentedCommands(): Documented[] {
  return pages.flatMap((page) => shellBlocks(textOf(page)).flatMap((block) => named(page, block)));
}

/** What stands between two `, and begins with a program that readers type. */
export function inlineCommands(): Documented[] {
  const typed = /^(?:(?:npx )?sekisho [a-z<…]|npx cdk |node [a-z]+\/|(?:npm|docker|aws|ssh|git|gcloud|curl) \S)/;
  return pages.flatMap((page) => {
    const sentences = textOf(page).replaceAll(/^ *```[\s\S]*?^ *```$/gm, "");
    const spans = [...sentences.matchAll(/`([^`]+)`/g)].map(([, code = ""]) => code.replaceAll(/\s+/g, " "));
    return spans.filter((code) => typed.test(code)).map((code) => ({ page, command: code.replaceAll("\\|", "|") }));
  });
}

function named(page: string, block: string): Documented[] {
  return commandLines(block).map((command) => ({ page, command }));
}

function shellBlocks(text: string): string[] {
  return [...text.matchAll(/^( *)```(?:sh|bash|shell|console)\n([\s\S]*?)^ *```$/gm)].map(
    ([, indent = "", block = ""]) => block.replaceAll(new RegExp(`^${indent}`, "gm"), ""),
  );
}
