/** The task store as the host calls it: every call has a deadline, and every failure is `unavailable`. */
import { SekishoError } from "../../../contracts/errors.ts";
import type { TaskStore } from "../../shared/engine/ports.ts";
import type { Log } from "../../shared/log.ts";
import type { ExecutionTask } from "./execution-task.ts";
import { createTimeLimit } from "./time-limit.ts";

export type ExecutionStore = Pick<TaskStore<ExecutionTask>, "get" | "create" | "replace" | "list">;

/** After the deadline nobody knows whether a write was done; what repeats it compares revisions, so that does no harm. */
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
  async function guarded<T>(work: Promise<T>): Promise<T> {
    try {
      return await withinTime(work);
    } catch (error) {
      log.error("store_failed", { cause_kind: error instanceof Error ? error.name : typeof error });
      throw new SekishoError("unavailable", { cause: error });
    }
  }
  return {
    get: async (request) => guarded(store.get(request)),
    create: async (request) => guarded(store.create(request)),
    replace: async (request) => guarded(store.replace(request)),
    list: async (request) => guarded(store.list(request)),
  };
}
