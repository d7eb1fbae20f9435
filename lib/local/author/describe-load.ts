/** Says to the author of an agent why its file could not be loaded, and at which line. */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { pathToFileURL } from "node:url";
import { types } from "node:util";
import { formatPlace, type Place, toPath } from "@sekisho/runtime/stack-frames.ts";
import { describeError } from "./report-agent.ts";
import { authorsFrames, codeFrame, isAuthorsFile } from "./source-place.ts";

const parseTimeoutMs = 10_000;

/** Lines for below the message of the error. Empty if there is nothing to add. `error` is what the import of `file` rejected with. */
export function describeLoadError({ error, file }: { error: unknown; file: string }): string[] {
  if (!types.isNativeError(error)) return [];
  const stack = error.stack ?? "";
  const isSyntax = error.name === "SyntaxError";
  const place =
    headerPlace(stack) ??
    (isSyntax && authorsFrames(stack).length === 0
      ? headerPlace(parseAlone(file))
      : importPlace(error.message));
  // An error that the file's own code threw.
  if (place === undefined)
    return authorsFrames(stack).length === 0 ? [] : describeError(error).slice(1);
  return [`at ${formatPlace(place)}`, ...codeFrame(place), ...hints({ error, place })];
}

/** Node begins the stack of a syntax error with the file and the line, and marks the column below the line. */
function headerPlace(stack: string): Place | undefined {
  const [header = "", ...lines] = stack.split("\n");
  const [, file, line] = /^((?:file:\/\/|\/|[A-Za-z]:\\).+):(\d+)$/.exec(header) ?? [];
  if (file === undefined || !isAuthorsFile(toPath(file))) return undefined;
  const mark = lines.find((each) => /^\s*\^+\s*$/.test(each)) ?? "";
  return { file: toPath(file), line: Number(line), column: Math.max(1, mark.indexOf("^") + 1) };
}

/**
 * Node tells the line of a syntax error in JavaScript only when it prints the error at the end of a process. The code of the file does not
 * run, because its modules cannot be linked.
 */
function parseAlone(file: string): string {
  const code = `await import(${JSON.stringify(pathToFileURL(file).href)})`;
  const child = spawnSync(process.execPath, ["--input-type=module", "--eval", code], {
    encoding: "utf8",
    timeout: parseTimeoutMs,
  });
  return child.stderr.trimStart();
}

/** The line of an import that was not found. The error names the missing file and the one that imports it. */
function importPlace(message: string): Place | undefined {
  const [, missing = "", importer = ""] =
    /^Cannot find (?:module|package) '(.+)' imported from (.+)$/.exec(message) ?? [];
  const file = toPath(importer);
  if (file === "" || !isAuthorsFile(file)) return undefined;
  const lines = readFileSync(file, "utf8").split("\n");
  const line = lines.findIndex(
    (text) => /\b(import|from|require)\b/.test(text) && text.includes(basename(missing)),
  );
  const column = lines[line]?.indexOf(basename(missing)) ?? 0;
  return line === -1 ? undefined : { file, line: line + 1, column: column + 1 };
}

function hints({ error, place: { file, line } }: { error: Error; place: Place }): string[] {
  const lines = readFileSync(file, "utf8").split("\n");
  const text = lines[line - 1] ?? "";
  const hasGenerator = /function\s*\*|async\s*\*/.test(lines.join("\n"));
  if (/\byield\b/.test(text) && !hasGenerator)
    return ["Only a generator can yield. Begin the agent with: async function*"];
  if (
    /^Cannot use import statement outside a module|^Unexpected token 'export'/.test(error.message)
  )
    return [
      `package.json says "type": "commonjs". Write "type": "module" there, or name the file .mts or .mjs.`,
    ];
  if ("code" in error && error.code === "ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX")
    return ["Types are removed from the file, not compiled. Use a feature that JavaScript has."];
  return [];
}
