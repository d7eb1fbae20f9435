/** A copy of the sources in which one mutation at a time is made. The packages are those of the original. */
import { execFileSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Mutation } from "./operators.ts";

export type Tree = {
  folder: string;
  apply(mutation: Mutation): void;
  restore(mutation: Mutation): void;
  remove(): void;
};

/** The files that git knows, as they are now. */
export function filesOf(root: string): string[] {
  return execFileSync("git", ["ls-files", "-z"], { cwd: root, encoding: "utf8" })
    .split("\0")
    .filter(Boolean);
}

export function copyTree(root: string): Tree {
  const folder = mkdtempSync(join(tmpdir(), "sekisho-mutations-"));
  for (const file of filesOf(root))
    cpSync(join(root, file), join(folder, file), { recursive: true });
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  const original = (file: string) => readFileSync(join(root, file), "utf8");
  return {
    folder,
    apply: (mutation) =>
      writeFileSync(join(folder, mutation.file), mutated(original(mutation.file), mutation)),
    restore: ({ file }) => writeFileSync(join(folder, file), original(file)),
    remove: () => rmSync(folder, { recursive: true }),
  };
}

function mutated(text: string, { start, end, text: replacement }: Mutation): string {
  return `${text.slice(0, start)}${replacement}${text.slice(end)}`;
}

/** The changed lines before and after, below the place. */
export function diffOf(root: string, mutation: Mutation): string {
  const { file, start, end } = mutation;
  const before = readFileSync(join(root, file), "utf8");
  const number = before.slice(0, start).split("\n").length;
  const from = before.lastIndexOf("\n", start - 1) + 1;
  const lineEnd = before.indexOf("\n", end);
  const to = lineEnd < 0 ? before.length : lineEnd;
  const after = mutated(before, mutation).slice(from, to + mutation.text.length - (end - start));
  const [was, is] = [before.slice(from, to).split("\n"), after.split("\n")];
  while (was.length > 1 && is.length > 1 && was.at(-1) === is.at(-1))
    [was, is].map((lines) => lines.pop());
  const lines = [...was.map((line) => `- ${line}`), ...is.map((line) => `+ ${line}`)];
  return [`${file}:${number} (${mutation.operator})`, ...lines].join("\n");
}
