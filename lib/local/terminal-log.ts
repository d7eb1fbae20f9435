/** Log lines on one machine: readable ones on a terminal, JSON everywhere else. */
import { styleText } from "node:util";
import { createLog, type Log, type LogLevel } from "@sekisho/runtime/log.ts";
import { isJsonObject, parseJson, sanitizeLine } from "@sekisho/runtime/untrusted-input.ts";

type Options = {
  service: "verification" | "execution" | "sekisho";
  level: LogLevel;
  debugRatio: number;
};

/** Colours follow NO_COLOR and FORCE_COLOR. */
export function createLocalLog(options: Options): Log {
  const stream = process.stderr;
  if (!stream.isTTY) return createLog(options);
  const paint: Paint = (format, text) => styleText(format, text, { stream });
  return createLog({
    ...options,
    write: (line) => stream.write(`${formatLogLine({ line, paint })}\n`),
  });
}

type Format = "red" | "yellow" | "cyan" | "dim" | "bold";
type Paint = (format: Format, text: string) => string;

const levelFormats: Record<string, Format> = {
  error: "red",
  warn: "yellow",
  info: "cyan",
  debug: "dim",
};
/** Ids that only a machine needs. `sekisho tasks show` takes the request id. */
const leftOut: readonly string[] = [
  "level",
  "message",
  "timestamp",
  "service",
  "trace_id",
  "operation",
];

/** `line` is one of `createLog`: `12:04:05 warn  execution    agent_threw reason=execution_failed`. */
export function formatLogLine({ line, paint }: { line: string; paint: Paint }): string {
  const fields = parseJson(line);
  if (!isJsonObject(fields)) return sanitizeLine(line);
  const text = (name: string) => sanitizeLine(String(fields[name] ?? ""));
  const level = text("level");
  const time = new Date(text("timestamp")).toTimeString().slice(0, 8);
  const otherFields = Object.keys(fields)
    .filter((name) => !leftOut.includes(name))
    .map((name) => `${sanitizeLine(name)}=${text(name)}`);
  return [
    paint("dim", time),
    paint(levelFormats[level] ?? "dim", level.padEnd(5)),
    paint("dim", text("service").padEnd(12)),
    paint("bold", text("message")),
    paint("dim", otherFields.join(" ")),
  ].join(" ");
}
