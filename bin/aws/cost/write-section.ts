/** The part of docs/operations.md that is generated. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { UsageError } from "../../commands/command.ts";

const begin = "<!-- cost: written by npx sekisho cost --tasks 1000000 --markdown -->";
const end = "<!-- cost: end -->";

/** Returns the file's path. */
export function writeSection({ directory, table }: { directory: string; table: string }): string {
  const path = join(directory, "docs", "operations.md");
  writeFileSync(path, withSection({ text: readText(path), table }));
  return path;
}

export function withSection({ text, table }: { text: string; table: string }): string {
  const [from, to] = [text.indexOf(begin), text.indexOf(end)];
  if (from < 0 || to < from) throw new UsageError(`docs/operations.md lacks the markers ${begin} and ${end}.`);
  return `${text.slice(0, from)}${begin}\n\n${table}\n\n${text.slice(to)}`;
}

function readText(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    throw new UsageError("There is no docs/operations.md here: --markdown is for the project's own folder.");
  }
}
