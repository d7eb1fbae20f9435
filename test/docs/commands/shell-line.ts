/** Parses the part of a shell's grammar that the documents use: `&&`, `|`, variables before a command, quotes, comments. */
import { sekisho } from "../../../lambdas/shared/command-line.ts";

/** One program with its words as the shell passes them. `$NAME` and `$(…)` stay unexpanded. */
export type ShellCommand = { env: Record<string, string>; args: string[] };

/** Splits a block into commands without comments. A line continues after a backslash, a pipe or an open quote. */
export function commandLines(block: string): string[] {
  const lines: string[] = [];
  let pending = "";
  for (const line of block.split("\n")) {
    const text = withoutComment(pending === "" ? line : `${pending}${line.trim()}`);
    const isCut = text.endsWith("\\");
    pending = isCut ? text.slice(0, -1) : text;
    if (isCut || isOpen(text) || text.endsWith("|")) {
      if (!isCut) pending += " ";
      continue;
    }
    if (text !== "") lines.push(text.replaceAll(/\s+/g, " "));
    pending = "";
  }
  if (pending.trim() !== "") throw new Error(`A command that never ends: ${pending}`);
  return lines;
}

export function parseCommand(line: string): ShellCommand[] {
  return partsOf(line).map((part) => {
    const args = splitWords(part);
    const first = args.findIndex((word) => !/^[A-Z_]+=/.test(word));
    const assigned = args.slice(0, first === -1 ? args.length : first);
    const pairs = assigned.map((word): [string, string] => {
      const at = word.indexOf("=");
      return [word.slice(0, at), word.slice(at + 1)];
    });
    return { env: Object.fromEntries(pairs), args: withoutNpx(args.slice(assigned.length)) };
  });
}

/** `npx --no-install sekisho …` is `sekisho …`, which sentences say. */
function withoutNpx(args: string[]): string[] {
  return args.slice(0, 3).join(" ") === sekisho ? args.slice(2) : args;
}

/** Returns the quote that is open at the end. Calls `act` for every character outside of quotes. */
function scan(text: string, act: (sign: string, index: number) => void): string {
  let quote = "";
  for (const [index, sign] of [...text].entries()) {
    if (quote === "" && (sign === "'" || sign === '"')) quote = sign;
    else if (sign === quote) quote = "";
    else if (quote === "") act(sign, index);
  }
  return quote;
}

function isOpen(text: string): boolean {
  return scan(text, () => {}) !== "";
}

function withoutComment(line: string): string {
  let end = line.length;
  const signs = [...line];
  scan(line, (sign, index) => {
    if (sign === "#" && (index === 0 || signs[index - 1] === " ")) end = Math.min(end, index);
  });
  return signs.slice(0, end).join("").trimEnd();
}

function partsOf(line: string): string[] {
  const signs = [...line];
  const parts: string[] = [];
  let from = 0;
  scan(line, (sign, index) => {
    const isJoint = sign === "|" || (sign === "&" && signs[index + 1] === "&");
    if (!isJoint) return;
    parts.push(signs.slice(from, index).join(""));
    from = index + (sign === "&" ? 2 : 1);
  });
  return [...parts, signs.slice(from).join("")].map((part) => part.trim());
}

function splitWords(part: string): string[] {
  const args = part.match(/(?:'[^']*'|"[^"]*"|\$\([^)]*\)|\S)+/g) ?? [];
  return args.map((word) =>
    word.replaceAll(/'([^']*)'|"([^"]*)"/g, (_all, one = "", two = "") => one + two),
  );
}
