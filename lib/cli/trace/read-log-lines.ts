/** Log lines from files or from stdin, however a log service wrote them. */
import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import { UsageError } from "../../../bin/commands/command.ts";
import { type LogLine, parseLogLine } from "./log-line.ts";

/** Which are of the task is known when all are read: what a line says of a task id may come late. */
const maxKept = 200_000;
/** `aws logs … --output text` puts one message behind another, with a tab in between. */
const betweenMessages = /\t(?=\{)/;

export type ReadLines = {
  lines: LogLine[];
  /** Those that are none of ours, empty ones not counted. */
  skipped: number;
  /** There were more than are kept. */
  cut: boolean;
};

/** `-` is stdin. Throws a UsageError that names the file that cannot be read. */
export async function readLogLines({
  files,
  stdin = process.stdin,
  signal,
}: {
  files: readonly string[];
  stdin?: NodeJS.ReadableStream;
  signal: AbortSignal;
}): Promise<ReadLines> {
  const read: ReadLines = { lines: [], skipped: 0, cut: false };
  for (const file of files) {
    const input: NodeJS.ReadableStream = file === "-" ? stdin : createReadStream(file, { signal });
    try {
      const texts = createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY, signal });
      // An interface ends without a word where its stream fails.
      const failed = new Promise<never>((_, reject) => input.once("error", reject));
      await Promise.race([takeAll({ texts, read }), failed]);
    } catch (thrown) {
      if (signal.aborted) throw new Error("Interrupted.");
      throw new UsageError(
        `${file} cannot be read (${codeOf(thrown)}): --logs takes files of log lines, or - for stdin.`,
      );
    }
    if (signal.aborted) throw new Error("Interrupted.");
  }
  return read;
}

async function takeAll({ texts, read }: { texts: AsyncIterable<string>; read: ReadLines }): Promise<void> {
  for await (const text of texts) {
    for (const one of text.split(betweenMessages)) take({ text: one, read });
  }
}

function take({ text, read }: { text: string; read: ReadLines }): void {
  if (text.trim() === "") return;
  const line = parseLogLine(text);
  if (line === undefined) read.skipped += 1;
  else if (read.lines.length < maxKept) read.lines.push(line);
  else read.cut = true;
}

function codeOf(thrown: unknown): string {
  const { code = "unknown" } = Object(thrown) as { code?: unknown };
  return String(code);
}
