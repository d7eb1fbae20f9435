/** Reads the stack of an error. */
import { existsSync, readFileSync } from "node:fs";
import { SourceMap } from "node:module";
import { relative } from "node:path";
import { fileURLToPath } from "node:url";

/** `line` and `column` begin at 1. `name` is the function of a stack frame. */
export type Place = { file: string; line: number; column: number; name?: string | undefined };

/** Longer than the line of any frame. The lines of the error's message may hold a foreign text, and are read as well. */
const maxFrameLength = 1000;

/** The frames that are in files, the innermost first. Frames of Node itself are left out. */
export function stackFrames(stack: string): Place[] {
  return stack.split("\n").flatMap((line) => {
    if (line.length > maxFrameLength) return [];
    const [, name, file, row, column] =
      /^ {4}at (?:async )?(?:(.+) \()?((?:file:\/\/|\/|[A-Za-z]:\\).+?):(\d+):(\d+)\)?$/.exec(
        line,
      ) ?? [];
    return file === undefined
      ? []
      : [{ file: toPath(file), line: Number(row), column: Number(column), name }];
  });
}

/** The place in the source file of a bundled file that has a source map beside it. Any other place is returned as it is. */
export function toSourcePlace(place: Place): Place {
  const map = `${place.file}.map`;
  if (!existsSync(map)) return place;
  const origin = new SourceMap(JSON.parse(readFileSync(map, "utf8"))).findOrigin(
    place.line,
    place.column,
  );
  return "fileName" in origin
    ? { file: origin.fileName, line: origin.lineNumber, column: origin.columnNumber }
    : place;
}

/** A module may have been imported with a query. */
export function toPath(url: string): string {
  return url.startsWith("file://") ? fileURLToPath(url.replace(/[?#].*$/, "")) : url;
}

/** `agent.ts`, relative to the working directory for a file below it. */
export function formatFile(file: string): string {
  const path = relative(process.cwd(), file);
  return path.startsWith("..") ? file : path;
}

/** `agent.ts:14:3` */
export function formatPlace({ file, line, column }: Place): string {
  return `${formatFile(file)}:${line}:${column}`;
}
