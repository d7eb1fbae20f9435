/** A JSON-RPC body that anybody may see: ids, kinds and numbers stay, of every other text its length. */
import { redact } from "../../../lambdas/verification/transport/tap.ts";

/** Members whose values are chosen by programs, not written by people. */
const shownMembers = new Set([
  ...["jsonrpc", "id", "method", "status", "state", "reason", "failed", "kind", "version", "code"],
  ...["task_id", "request_id", "correlation_id", "session_id", "contextId", "taskId", "messageId", "option_id"],
  ...["channel", "thread_ts", "team_id", "user_id", "ts", "role", "mimetype", "expires_at", "current", "target"],
]);
/** What looks like an id or a kind; a sentence does not. */
const shownPattern = /^[\w.:/+@-]{0,200}$/;

/** Fails closed: a member that nobody has thought of is a text. */
export function hideTexts(body: unknown): unknown {
  return shown({ name: "", value: redact(body) });
}

function shown({ name, value }: { name: string; value: unknown }): unknown {
  if (typeof value === "string") {
    return shownMembers.has(name) && shownPattern.test(value) ? value : `(${value.length} characters)`;
  }
  if (Array.isArray(value)) return value.map((member) => shown({ name: "", value: member }));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, shown({ name: key, value: member })]));
}
