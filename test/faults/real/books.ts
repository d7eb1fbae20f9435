/** What the zones and the agent wrote down, read while they run or after. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { openSqliteEngine } from "../../../bin/local/engine.ts";
import { type ExecutionTask, parseExecutionTask } from "../../../lambdas/execution/host/execution-task.ts";
import { taskIdOf } from "../../../lambdas/execution/host/task-id.ts";
import { type Database, openDatabase } from "../../../lambdas/shared/engine/sqlite/database.ts";
import { type Task, taskSchema } from "../../../lambdas/verification/task/task.ts";

export type QueuedMessage = { queue: string; body: string };

export type Books = {
  record(requestId: string): Promise<Task | undefined>;
  hostTask(requestId: string): Promise<ExecutionTask | undefined>;
  /** Of the Verification zone: its queue and its dead letters. */
  queued(): QueuedMessage[];
  /** Request ids, one for each start of the agent. */
  starts(): string[];
  close(): Promise<void>;
};

/** Of a host without an authenticator. */
const principal = "anyone";

export function openBooks({ folder }: { folder: string }): Books {
  const fileOf = (zone: string) => join(folder, ".sekisho", `${zone}.db`);
  const verification = openSqliteEngine({ file: fileOf("verification") });
  const execution = openSqliteEngine({ file: fileOf("execution") });
  const database: Database = openDatabase({ file: fileOf("verification") });
  const records = verification.taskStore({ parse: (json) => taskSchema.parse(json) });
  const hostTasks = execution.taskStore({ parse: parseExecutionTask });
  const messages = database.prepare("SELECT queue, body FROM messages ORDER BY seq");
  const startsFile = join(folder, "starts.log");
  return {
    record: (requestId) => records.get({ id: requestId }),
    hostTask: async (requestId) => hostTasks.get({ id: taskIdOf({ principal, requestId }) ?? "" }),
    queued: () => messages.all() as QueuedMessage[],
    starts: () => (existsSync(startsFile) ? readFileSync(startsFile, "utf8").split("\n").filter(Boolean) : []),
    async close() {
      await verification.close();
      await execution.close();
      await database.close();
    },
  };
}
