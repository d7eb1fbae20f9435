/** Reads the Execution zone's record of a task, if its store can be read from here. */

import { formatRoleName } from "@sekisho/cdk/names.ts";
import {
  deriveTaskId,
  type ExecutionTask,
  parseExecutionTask,
} from "@sekisho/execution/tasks/execution-task.ts";
import type { TaskItem } from "@sekisho/runtime/engine/ports.ts";
import type { Task } from "@sekisho/verification/task/task.ts";
import { AwsFailure } from "../aws/aws-failure.ts";
import { type ExecutionTarget, withExecutionStore } from "../zone/execution-store.ts";

export type ExecutionRecord = {
  task?: ExecutionTask;
  /** Explains to a person why there is no record. */
  note?: string;
};

/** The principals of a local host's only caller, by its authenticator. */
const localPrincipals = ["anyone", "bearer", "platform"];

type RecordSearch = { at: ExecutionTarget; task: Task; signal: AbortSignal };

/** An AWS failure is a note, so that the rest of the task is shown. */
export async function readExecutionRecord({
  at,
  task: { id: requestId, call },
  signal,
}: RecordSearch): Promise<ExecutionRecord> {
  // The Verification zone does not learn the task id of a task that was answered at once, but the id follows from the caller.
  const derivedIds = listPrincipals(at).map((principal) => deriveTaskId({ principal, requestId }));
  const ids = new Set([call?.taskId, ...derivedIds].filter((id) => id !== undefined));
  try {
    const record = await withExecutionStore<Stored, ExecutionRecord>({
      at,
      parse: parseRecord,
      signal,
      async work(store) {
        for (const id of ids) {
          const storedItem = await store.get({ id });
          if (storedItem?.task !== undefined) return { task: storedItem.task };
          if (storedItem !== undefined)
            return {
              note: `Another version of Sekisho wrote the Execution zone's record ${id}, so it is not shown.`,
            };
        }
        return {};
      },
    });
    return record ?? {};
  } catch (error) {
    if (error instanceof AwsFailure && !signal.aborted) return { note: error.message };
    throw error;
  }
}

function listPrincipals(at: ExecutionTarget): string[] {
  if ("file" in at) return localPrincipals;
  const role = formatRoleName({ stageName: at.stageName, zone: "Verification" });
  return [`${at.stage.verification.account}:role/${role}`, "agentcore"];
}

type Stored = TaskItem & Pick<ExecutionRecord, "task">;

/** Every version has the store's own fields, so a record of another version is recognized. */
function parseRecord(json: unknown): Stored {
  const item = json as TaskItem;
  try {
    return { ...item, task: parseExecutionTask(json) };
  } catch {
    return item;
  }
}
