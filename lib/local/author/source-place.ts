/** Finds lines in the files of an agent's author: of an error's stack, of a function, and of the `yield` at which a generator waits. */
import { readFileSync } from "node:fs";
import { type Runtime, Session } from "node:inspector";
import { join, sep } from "node:path";
import { projectDirectory } from "@sekisho/runtime/project-directory.ts";
import { type Place, stackFrames, toPath } from "@sekisho/runtime/stack-frames.ts";

const ownFolders = ["lambdas", "lib", "contracts", "bin"].map(
  (name) => join(projectDirectory, name) + sep,
);

/** True for a file that the author may have written: no package, nothing of Node, nothing of Sekisho. */
export function isAuthorsFile(file: string): boolean {
  if (file.split(sep).includes("node_modules")) return false;
  return !ownFolders.some((folder) => file.startsWith(folder));
}

/** The frames of a stack that are in the author's files, the innermost first. */
export function authorsFrames(stack: string): Place[] {
  return stackFrames(stack).filter(({ file }) => isAuthorsFile(file));
}

/** The lines around a place, with a mark below it. Empty if the file cannot be read. */
export function codeFrame({ file, line, column }: Place): string[] {
  let lines: string[];
  try {
    lines = readFileSync(file, "utf8").split("\n");
  } catch {
    return [];
  }
  // The end of the last line is no line.
  if (lines.at(-1) === "") lines.pop();
  const first = Math.max(1, line - 2);
  const shownLines = lines.slice(first - 1, line + 1);
  const width = String(first + shownLines.length).length;
  return shownLines.flatMap((text, at) => {
    const number = first + at;
    const row = `${number === line ? ">" : " "} ${String(number).padStart(width)} | ${text}`;
    // Tabs stay tabs, so that the mark is below its character.
    const mark = text.slice(0, Math.max(0, column - 1)).replaceAll(/[^\t]/g, " ");
    return number === line ? [row, `  ${" ".repeat(width)} | ${mark}^`] : [row];
  });
}

/** Where the debugger finds the object for a moment. */
const handOver = "__sekishoLocated";

/**
 * Asks V8's own debugger for the line at which a generator waits, or at which a function begins. Nothing else knows it. Undefined for other
 * values, and for code outside of the author's files.
 */
export function locate(value: unknown): Place | undefined {
  const session = new Session();
  const global = globalThis as Record<string, unknown>;
  try {
    session.connect();
    global[handOver] = value;
    const location = readLocation(session);
    if (location === undefined) return undefined;
    const file = toPath(scriptUrls(session).get(location.scriptId) ?? "");
    if (file === "" || !isAuthorsFile(file)) return undefined;
    return { file, line: location.lineNumber + 1, column: location.columnNumber + 1 };
  } catch {
    // The line is only a help. A Node without a debugger reports the rest.
    return undefined;
  } finally {
    delete global[handOver];
    session.disconnect();
  }
}

type Location = { scriptId: string; lineNumber: number; columnNumber: number };

/** The debugger answers within the call. */
function readLocation(session: Session): Location | undefined {
  let objectId: string | undefined;
  session.post("Runtime.evaluate", { expression: `globalThis.${handOver}` }, (_error, answer) => {
    objectId = answer?.result.objectId;
  });
  if (objectId === undefined) return undefined;
  let properties: Runtime.InternalPropertyDescriptor[] = [];
  session.post("Runtime.getProperties", { objectId, ownProperties: true }, (_error, answer) => {
    properties = answer?.internalProperties ?? [];
  });
  const location = properties.find(
    ({ name }) => name === "[[GeneratorLocation]]" || name === "[[FunctionLocation]]",
  );
  return location?.value?.value;
}

function scriptUrls(session: Session): Map<string, string> {
  const urls = new Map<string, string>();
  session.on("Debugger.scriptParsed", ({ params }) => urls.set(params.scriptId, params.url));
  session.post("Debugger.enable");
  session.post("Debugger.disable");
  return urls;
}
