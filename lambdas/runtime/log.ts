/** Log lines: one JSON object each. The allowed fields are ids, kinds, sizes and durations; texts and secrets have no field. */
import { createHash } from "node:crypto";
import { escapeActiveCharacters } from "./untrusted-input.ts";

/** All fields of log lines. Any other field is dropped. Durations and delays are in milliseconds, sizes in bytes. */
const allowedFields = [
  "request_id",
  "task_id",
  "correlation_id",
  "trace_id",
  "method",
  "operation",
  "version",
  "reason",
  "cause_kind",
  "state",
  "next_state",
  "event",
  "effect",
  "attempt",
  "seq",
  "destination",
  "transport",
  "agent",
  "principal_kind",
  "operator",
  "team",
  "channel",
  "user",
  "status",
  "code",
  "slack_error",
  "duration_ms",
  "delay_ms",
  "bytes",
  "count",
  "address",
  "source_address",
  "source_line",
  "signal",
  "drop",
] as const;

type LogField = (typeof allowedFields)[number];
export type LogFields = { [K in LogField]?: string | number | boolean | undefined };
export type LogLevel = "debug" | "info" | "warn" | "error";

export type Log = {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
  /** The same log, with fields that are added to every line. */
  with(fields: LogFields): Log;
};

const ranks: Record<LogLevel, number> = { debug: 10, info: 20, warn: 30, error: 40 };

/**
 * `message` is a fixed snake_case name, never built from input. Lines go to stderr by default. Below `level`, only the lines of a share
 * `debugRatio` of all tasks are written.
 */
export function createLog({
  service,
  level = "info",
  debugRatio = 0,
  fields: boundFields = {},
  write = (line) => process.stderr.write(line),
  now = Date.now,
}: {
  service: "verification" | "execution" | "sekisho";
  level?: LogLevel;
  debugRatio?: number;
  fields?: LogFields;
  write?: (line: string) => void;
  now?: () => number;
}): Log {
  function emit(lineLevel: LogLevel, message: string, lineFields: LogFields = {}): void {
    const fields = { ...boundFields, ...lineFields };
    const { request_id: requestId } = fields;
    const isWanted =
      ranks[lineLevel] >= ranks[level] ||
      (debugRatio > 0 &&
        typeof requestId === "string" &&
        isDebugged({ requestId, ratio: debugRatio }));
    if (!isWanted) return;
    const timestamp = new Date(now()).toISOString();
    const line = { level: lineLevel, message, timestamp, service, ...pick(fields) };
    write(`${escapeActiveCharacters(JSON.stringify(line))}\n`);
  }
  return {
    debug: emit.bind(undefined, "debug"),
    info: emit.bind(undefined, "info"),
    warn: emit.bind(undefined, "warn"),
    error: emit.bind(undefined, "error"),
    with: (fields) =>
      createLog({ service, level, debugRatio, fields: { ...boundFields, ...fields }, write, now }),
  };
}

export const silentLog: Log = {
  debug() {},
  info() {},
  warn() {},
  error() {},
  with: () => silentLog,
};

function pick(fields: LogFields): LogFields {
  const knownFields: LogFields = {};
  for (const name of allowedFields) {
    const value = fields[name];
    if (value !== undefined)
      knownFields[name] = typeof value === "string" ? value.slice(0, 200) : value;
  }
  return knownFields;
}

/**
 * True if the lines of a task are written at every level. Depends only on the request id, so that all processes of both zones choose the
 * same tasks. `ratio` is their share, from 0 to 1; a larger one includes the tasks of a smaller one.
 */
export function isDebugged({ requestId, ratio }: { requestId: string; ratio: number }): boolean {
  // The letter case of a UUID does not matter.
  const digest = createHash("sha256").update(requestId.toLowerCase()).digest();
  return digest.readUInt32BE(0) < ratio * 2 ** 32;
}
