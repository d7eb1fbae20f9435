/** Reads the log lines of either zone back: from a file of them, with or without what a log service puts before each. */
import { isLogField } from "../../../lambdas/shared/log.ts";
import { sanitizeLine } from "../../../lambdas/shared/untrusted-input.ts";

export type LogLine = {
  atMs: number;
  level: string;
  message: string;
  service: string;
  fields: Record<string, string | number>;
};

/** Other programs write to the same stream: beyond these no clock of ours was, and no call took as long. */
const firstMs = Date.UTC(2000, 0);
const lastMs = Date.UTC(2100, 0);
const maxDurationMs = 30 * 24 * 3600_000;
/** The message is one name; a text would be none of ours. */
const namePattern = /^[a-z0-9_]{1,60}$/;

/**
 * Undefined where the line is none of ours. Only fields that our lines may have are taken: a file may hold the lines of other
 * programs, and texts in them.
 */
export function parseLogLine(text: string): LogLine | undefined {
  const json = objectIn(text);
  if (json === undefined) return undefined;
  const { level, message, timestamp, service, ...rest } = json;
  const atMs = Date.parse(String(timestamp));
  if (typeof message !== "string" || !namePattern.test(message)) return undefined;
  if (!(atMs >= firstMs && atMs < lastMs)) return undefined;
  const fields = Object.entries(rest).flatMap(([name, value]) => {
    const isKnown = isLogField(name) && (name !== "duration_ms" || isDuration(value));
    const shown = isKnown ? shownValue(value) : undefined;
    return shown === undefined ? [] : [[name, shown] as const];
  });
  return {
    atMs,
    level: String(shownValue(level) ?? "info"),
    message,
    service: String(shownValue(service) ?? ""),
    fields: Object.fromEntries(fields),
  };
}

function isDuration(value: unknown): boolean {
  return typeof value === "number" && value >= 0 && value <= maxDurationMs;
}

function shownValue(value: unknown): string | number | undefined {
  if (typeof value === "number") return value;
  if (typeof value === "boolean") return String(value);
  return typeof value === "string" ? sanitizeLine(value).slice(0, 200) : undefined;
}

/** Log services put a time, a stream's name, an id before the line. */
function objectIn(text: string): Record<string, unknown> | undefined {
  const begin = text.indexOf("{");
  if (begin < 0) return undefined;
  try {
    const json: unknown = JSON.parse(text.slice(begin, text.lastIndexOf("}") + 1));
    return typeof json === "object" && json !== null ? (json as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
