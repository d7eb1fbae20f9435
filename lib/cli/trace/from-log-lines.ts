/** What log lines of either zone tell of a task's way. */
import { describeEventName, formatStepTitle } from "./event-text.ts";
import { formatStateTitle, stateKey } from "./from-execution-task.ts";
import { callKey, decisionKey, receivedKey } from "./from-task.ts";
import type { LogLine } from "./log-line.ts";
import type { PictureStep, PictureZone, SourceStep } from "./picture-step.ts";

/** Fields that the title, the time or the picture's head tells already. */
const toldElsewhere = new Set(["request_id", "task_id", "trace_id", "correlation_id", "duration_ms", "event", "state"]);

export function toLogStep(line: LogLine): SourceStep {
  const { fields, level } = line;
  const { key, title, zone, isSpan } = tell(line);
  const durationMs = typeof fields.duration_ms === "number" ? fields.duration_ms : undefined;
  const step: PictureStep = {
    atMs: isSpan === true && durationMs !== undefined ? line.atMs - durationMs : line.atMs,
    zone,
    title,
    detail: Object.fromEntries(
      Object.entries(fields).filter(([name, value]) => !toldElsewhere.has(name) && !isTold({ name, value, title })),
    ),
    ...(durationMs !== undefined && { durationMs }),
    ...((level === "warn" || level === "error") && { failed: true }),
  };
  return { key, step };
}

/** The method that began a task is in each of the Execution zone's lines. */
const beginnings: readonly unknown[] = ["execute_task", "SendMessage"];

function isTold({ name, value, title }: { name: string; value: unknown; title: string }): boolean {
  if (name === "reason") return title.endsWith(`(${value})`);
  return name === "operation" && (beginnings.includes(value) || title.startsWith(String(value)));
}

type Told = {
  key?: string;
  title: string;
  zone: PictureZone;
  /** The line was written at the end of what it tells of. */
  isSpan?: true;
};

function tell({ message, service, fields }: LogLine): Told {
  const { event = "", state = "", operation = "call", reason } = fields;
  const because = reason === undefined ? "" : ` (${reason})`;
  switch (message) {
    case "message_enqueued":
      return { key: receivedKey, title: describeEventName("asked"), zone: "slack" };
    case "task_step": {
      const title = formatStepTitle({ words: `${describeEventName(String(event))}${because}`, state: String(state) });
      return { key: decisionKey({ event: String(event), state: String(state) }), title, zone: "verification" };
    }
    case "call_answered":
      return { key: callKey(String(operation)), title: String(operation), zone: "transport", isSpan: true };
    case "call_failed":
      return {
        key: callKey(String(operation)),
        title: `${operation} failed${because}`,
        zone: "transport",
        isSpan: true,
      };
    case "task_started":
      return { key: stateKey("working"), title: formatStateTitle("working"), zone: "agent" };
    case "task_ended":
    case "task_asks":
      return { key: stateKey(String(state)), title: formatStateTitle(String(state)), zone: "agent" };
    default:
      return { title: `${describeEventName(message)}${because}`, zone: zoneOf({ message, service }) };
  }
}

function zoneOf({ message, service }: Pick<LogLine, "message" | "service">): PictureZone {
  if (service === "execution") return /^(agent|model|task)_/.test(message) ? "agent" : "execution";
  if (/^circuit_/.test(message)) return "transport";
  return /^(slack|stand_in|button|event|enqueue|message)_/.test(message) ? "slack" : "verification";
}
