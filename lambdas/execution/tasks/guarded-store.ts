/** The task store as the host calls it: every call has a deadline, and every failure is `unavailable`. */

import { SekishoError } from "../../../contracts/errors.ts";
import type { TaskStore } from "../../shared/engine/ports.ts";
import type { Log } from "../../shared/log.ts";
import { errorKind } from "../../shared/telemetry/error-kind.ts";
import { createTimeLimit } from "../runs/time-limit.ts";
import type { Change } from "./changes.ts";
import { type ExecutionTask, loggedId } from "./execution-task.ts";

export type ExecutionStore = Pick<TaskStore<ExecutionTask>, "get" | "create" | "replace" | "list">;

/**
 * The RangeError of a foreign cursor comes through as it is. After the deadline nobody knows whether a write was done; what repeats it compares revisions,
 * so that does no harm.
 */
export function guardedStore({
  store,
  timeoutMs,
  log,
}: {
  store: ExecutionStore;
  timeoutMs: number;
  log: Log;
}): ExecutionStore {
  const withinTime = createTimeLimit({ ms: timeoutMs, reason: "timeout" });
  async function guarded<T>({
    work,
    operation,
    item,
  }: {
    work: Promise<T>;
    operation: string;
    item?: { id: string; requestId?: unknown };
  }): Promise<T> {
    try {
      return await withinTime(work);
    } catch (error) {
      // A cursor that is none of the store's is its sender's mistake.
      if (operation === "store_list" && error instanceof RangeError) throw error;
      const ids = { task_id: item?.id, request_id: loggedId(item?.requestId) };
      log.error("store_failed", { ...ids, operation, reason: "unavailable", cause_kind: errorKind(error) });
      throw new SekishoError("unavailable", { cause: error });
    }
  }
  return {
    get: async (request) => guarded({ work: store.get(request), operation: "store_get", item: request }),
    create: async (request) => guarded({ work: store.create(request), operation: "store_create", ...request }),
    replace: async (request) => guarded({ work: store.replace(request), operation: "store_replace", ...request }),
    list: async (request) => guarded({ work: store.list(request), operation: "store_list" }),
  };
}

// How much of a task fits into one record, and what gives way where it is more.

/** An item of DynamoDB holds 400 KB (409,600 bytes); what its indexes repeat, a lease and some numbers come on top. */
const maxRecordBytes = 400_000;

/** The same record. Throws `payload_too_large` where none holds it. */
export function checkSize(task: ExecutionTask): ExecutionTask {
  if (fits(task)) return task;
  throw new SekishoError("payload_too_large", { details: { task_id: task.id } });
}

/** The first of these changes whose record fits, or the last one. */
export function firstThatFits(changes: readonly Change[]): Change {
  return (task) => {
    let next: ExecutionTask | undefined;
    for (const change of changes) {
      next = change(task);
      if (next === undefined || fits(next)) return next;
    }
    return next;
  };
}

/** The same change, and of what was said in the task nothing. */
export function withoutHistory(change: Change): Change {
  return (task) => {
    const next = change(task);
    return next?.a2a === undefined ? next : { ...next, a2a: { ...next.a2a, messages: [] } };
  };
}

function fits(task: ExecutionTask): boolean {
  return Buffer.byteLength(JSON.stringify(task)) <= maxRecordBytes;
}
