/** The task store as the host calls it: every call has a deadline, and every failure is `unavailable`. */
import { SekishoError } from "../../../contracts/errors.ts";
import type { TaskStore } from "../../shared/engine/ports.ts";
import type { Log } from "../../shared/log.ts";
import { causeKind } from "./cause-kind.ts";
import type { ExecutionTask } from "./execution-task.ts";
import { loggedId } from "./logged-ids.ts";
import { createTimeLimit } from "./time-limit.ts";

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
      log.error("store_failed", { ...ids, operation, reason: "unavailable", cause_kind: causeKind(error) });
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
