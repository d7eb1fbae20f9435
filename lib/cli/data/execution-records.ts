/** Counts or erases the Execution zone's records of a person's tasks. These records hold request ids, and no person. */
import * as z from "zod";
import type { ErasableStore } from "../../../lambdas/shared/engine/ports.ts";
import { atExecutionStore, type ExecutionTarget } from "../zone/execution-store.ts";
import { scanItems } from "../zone/list-items.ts";
import { type DataPart, parseRecord, type StoredRecord } from "./person.ts";

/** The longest grace period for an expired lease that a host can be configured with. */
const lostAfterMs = 300_000;
const leaseSchema = z.object({ untilMs: z.number() });

/** Rejects with an AwsFailure if the credentials do not reach the store. */
export function createExecutionRecords({
  at,
  signal,
}: {
  at: ExecutionTarget;
  signal: AbortSignal;
}): DataPart {
  return async ({ ids, erase }) => {
    if (ids.size === 0) return 0;
    async function work(store: ErasableStore<StoredRecord>): Promise<number> {
      let sum = 0;
      for await (const record of scanItems({ store, signal })) {
        if (!isOf(record, ids)) continue;
        if (erase && (isRunning(record) || !(await store.remove(record)))) {
          throw new Error(
            "An agent still works on one of the tasks. Run the command again when it has ended.",
          );
        }
        sum += 1;
      }
      return sum;
    }
    return (await atExecutionStore({ at, parse: parseRecord, work, signal })) ?? 0;
  };
}

/**
 * True if a run still writes the record. Only such a record must stay: the Verification zone has ended the task, so nobody reads
 * a record that waits for an answer, has not begun, or lost its host.
 */
function isRunning({ state, lease }: Pick<StoredRecord, "state"> & { lease?: unknown }): boolean {
  const untilMs = leaseSchema.safeParse(lease).data?.untilMs;
  return state === "working" && untilMs !== undefined && Date.now() < untilMs + lostAfterMs;
}

/** A record of a task that came over A2A has the request id in its correlation id. */
function isOf({ requestId, correlationId }: StoredRecord, ids: ReadonlySet<string>): boolean {
  return [requestId, correlationId].some(
    (id) => typeof id === "string" && ids.has(id.toLowerCase()),
  );
}
