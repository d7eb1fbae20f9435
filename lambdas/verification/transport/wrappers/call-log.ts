/** One log line for each attempt: ids, kinds and how long it took; never params, results or texts of errors. */
import { SekishoError } from "../../../../contracts/errors.ts";
import type { Log, LogFields } from "../../../shared/log.ts";
import { traceIdOf } from "../../../shared/trace.ts";
import type { RunningCall, Wrapper } from "./wrapper.ts";

export function callLog({ log, now }: { log: Log; now: () => number }): Wrapper {
  return (next) => async (call) => {
    const startedAtMs = now();
    const fields = () => ({ ...fieldsOf(call), duration_ms: now() - startedAtMs });
    try {
      const result = await next(call);
      log.info("call_answered", fields());
      return result;
    } catch (thrown) {
      const error = SekishoError.from(thrown);
      const { task_id = error.details.task_id, ...others } = fields();
      const { reason, code } = error;
      log.warn("call_failed", { task_id, ...others, reason, code, cause_kind: kindOf(error.cause) });
      throw error;
    }
  };
}

function fieldsOf({ method, params, requestId, attempt, trace }: RunningCall): LogFields {
  const { task_id } = { task_id: undefined, ...params };
  return { request_id: requestId, task_id, operation: method, attempt, trace_id: traceIdOf(trace) };
}

/** A code such as ECONNREFUSED, or the error's class; never its message. */
function kindOf(cause: unknown): string | undefined {
  if (typeof cause !== "object" || cause === null) return undefined;
  if ("code" in cause && typeof cause.code === "string") return cause.code;
  return "name" in cause && typeof cause.name === "string" ? cause.name : undefined;
}
