/** Reads log lines of either zone from files or stdin, and makes the steps of a timeline from them. */
import { createReadStream } from "node:fs";
import { addAbortSignal, type Readable } from "node:stream";
import { isLogField } from "../../../lambdas/shared/log.ts";
import { sanitizeLine } from "../../../lambdas/shared/untrusted-input.ts";
import { readJson } from "../../local/read-json.ts";
import { UsageError } from "../command.ts";
import { describeEventName, formatStepTitle } from "./event-text.ts";
import type { PictureStep, PictureZone } from "./picture-step.ts";

export type LogLine = {
  atMs: number;
  level: string;
  message: string;
  service: string;
  fields: Record<string, string | number>;
};

/** All lines stay in memory until the last is read, because a later line may have the task id that an earlier one needs. */
const maxLines = 200_000;
/** `aws logs … --output text` puts a tab between messages. */
const lineEnd = /\r?\n|\t(?=\{)/;

type LogFiles = { files: readonly string[]; stdin?: Readable; signal: AbortSignal };

/** `-` is stdin. `skipped` counts foreign lines. `cut`: the rest was left out. Throws a UsageError for an unreadable file. */
export async function readLogLines({
  files,
  stdin = process.stdin,
  signal,
}: LogFiles): Promise<{ lines: LogLine[]; skipped: number; cut: boolean }> {
  const read = { lines: [] as LogLine[], skipped: 0, cut: false };
  for (const file of files) {
    try {
      const input = addAbortSignal(signal, file === "-" ? stdin : createReadStream(file));
      for await (const text of splitLines(input)) {
        const line = parseLogLine(text);
        if (line === undefined) read.skipped += text.trim() === "" ? 0 : 1;
        else if (read.lines.length < maxLines) read.lines.push(line);
        else read.cut = true;
      }
    } catch (thrown) {
      if (signal.aborted) throw new Error("Interrupted.");
      const why = Object(thrown).code ?? "unknown";
      throw new UsageError(
        `${file} cannot be read (${why}). --logs takes files of log lines, or - for stdin.`,
      );
    }
  }
  return read;
}

async function* splitLines(input: Readable): AsyncGenerator<string> {
  let rest = "";
  for await (const chunk of input.setEncoding("utf8")) {
    const lines = `${rest}${chunk}`.split(lineEnd);
    rest = lines.pop() ?? "";
    yield* lines;
  }
  yield rest;
}

/** The message of a log line is one name. Other programs that write to the same stream may write texts. */
const namePattern = /^[a-z0-9_]{1,60}$/;
const firstMs = Date.UTC(2000, 0);
const lastMs = Date.UTC(2100, 0);
const maxDurationMs = 30 * 24 * 3600_000;

/** Undefined if the line is not ours. Takes only the fields of our lines, because others may hold texts. */
export function parseLogLine(text: string): LogLine | undefined {
  const { level, message, timestamp, service, ...rest } = parseObject(text);
  const atMs = Date.parse(String(timestamp));
  if (
    typeof message !== "string" ||
    !namePattern.test(message) ||
    !(atMs >= firstMs && atMs < lastMs)
  )
    return undefined;
  const fields: LogLine["fields"] = {};
  for (const [name, value] of Object.entries(rest)) {
    const shown =
      isLogField(name) && (name !== "duration_ms" || isDuration(value))
        ? showValue(value)
        : undefined;
    if (shown !== undefined) fields[name] = shown;
  }
  return {
    atMs,
    level: String(showValue(level) ?? "info"),
    message,
    service: String(showValue(service) ?? ""),
    fields,
  };
}

function isDuration(value: unknown): boolean {
  return typeof value === "number" && value >= 0 && value <= maxDurationMs;
}

function showValue(value: unknown): string | number | undefined {
  if (typeof value === "number") return value;
  if (typeof value === "boolean") return String(value);
  return typeof value === "string" ? sanitizeLine(value).slice(0, 200) : undefined;
}

/** Log services put a time, a stream's name or an id before the line. */
function parseObject(text: string): Record<string, unknown> {
  const begin = text.indexOf("{");
  return Object(begin < 0 ? undefined : readJson(text.slice(begin, text.lastIndexOf("}") + 1)));
}

type Ids = { taskId: string | undefined; traceId: string | undefined };

/** The lines of a task, each once, in order of time. A line that names another request is of another task, whatever its trace. */
export function selectLines({
  all,
  requestId,
  ...known
}: Ids & { all: readonly LogLine[]; requestId: string }): Ids & {
  lines: LogLine[];
} {
  const own = all.filter((line) => requestIdOf(line) === requestId);
  const idInLines = (name: "task_id" | "trace_id") =>
    own.find(({ fields }) => fields[name] !== undefined)?.fields[name];
  const taskId = known.taskId ?? idInLines("task_id")?.toString();
  const traceId = known.traceId ?? idInLines("trace_id")?.toString();
  const ids = [taskId, traceId].filter((id) => id !== undefined);
  const fitting = all.filter((line) => {
    const { task_id: task = "", trace_id: trace = "" } = line.fields;
    const named = requestIdOf(line);
    return named === undefined
      ? ids.includes(String(task)) || ids.includes(String(trace))
      : named === requestId;
  });
  const once = new Map(fitting.map((line) => [JSON.stringify(line), line]));
  return { lines: [...once.values()].sort((a, b) => a.atMs - b.atMs), taskId, traceId };
}

/** The request ids of the lines with an id: a task id, a trace id, or a request id or its beginning. */
export function findRequestIds({ lines, id }: { lines: readonly LogLine[]; id: string }): string[] {
  const found = lines.flatMap((line) => {
    const requestId = requestIdOf(line);
    const { task_id: task, trace_id: trace } = line.fields;
    return requestId !== undefined &&
      (requestId.startsWith(id.toLowerCase()) || task === id || trace === id)
      ? [requestId]
      : [];
  });
  return [...new Set(found)];
}

function requestIdOf({ fields: { request_id: id } }: LogLine): string | undefined {
  return id === undefined ? undefined : String(id).toLowerCase();
}

type TaskLines = { lines: readonly LogLine[]; hasTask: boolean; hasExecution: boolean };

/** `lines` are of one task, in order. Lines that repeat a record that is at hand, or a state, are left out. */
export function listLineSteps({ lines, hasTask, hasExecution }: TaskLines): PictureStep[] {
  let state: string | number | undefined;
  return lines.flatMap((line) => {
    const { message, fields } = line;
    if (hasTask && (message === "task_step" || message === "message_enqueued")) return [];
    if (hasExecution && (message === "task_ended" || message === "task_asks")) return [];
    if (message !== "task_step") return [toLineStep(line)];
    const isRepeated = fields.state === state;
    ({ state } = fields);
    return isRepeated ? [] : [toLineStep(line)];
  });
}

/** Fields that the title, the time or the head of the timeline shows already. */
const shownElsewhere = new Set([
  "request_id",
  "task_id",
  "trace_id",
  "correlation_id",
  "duration_ms",
]);

function toLineStep(line: LogLine): PictureStep {
  const { level, message, fields } = line;
  const { event, state, operation = "call", reason, duration_ms: duration, ...rest } = fields;
  const durationMs = typeof duration === "number" ? duration : undefined;
  const because = reason === undefined ? "" : ` (${reason})`;
  const isCall = message === "call_answered" || message === "call_failed";
  const text = isCall
    ? `${operation}${message === "call_failed" ? " failed" : ""}`
    : describeEventName(String(message === "task_step" ? event : message));
  const title = state === undefined ? text : formatStepTitle({ text, state: String(state) });
  return {
    // The line of a call is written when the call ends.
    atMs: isCall ? line.atMs - (durationMs ?? 0) : line.atMs,
    zone: isCall ? "transport" : zoneOf(line),
    title: `${title}${because}`,
    detail: Object.fromEntries(Object.entries(rest).filter(([name]) => !shownElsewhere.has(name))),
    ...(durationMs !== undefined && { durationMs }),
    ...((level === "warn" || level === "error") && { failed: true }),
  };
}

function zoneOf({ message, service }: LogLine): PictureZone {
  if (service === "execution") return /^(agent|model|task)_/.test(message) ? "agent" : "execution";
  if (/^circuit_/.test(message)) return "transport";
  return /^(slack|fake_slack|button|event|enqueue|message)_/.test(message)
    ? "slack"
    : "verification";
}
