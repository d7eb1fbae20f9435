/** What the zones and the agent wrote down, read while they run or after. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { openSqliteEngine } from "../../../bin/local/engine.ts";
import { type ExecutionTask, parseExecutionTask } from "../../../lambdas/execution/host/execution-task.ts";
import { taskIdOf } from "../../../lambdas/execution/host/task-id.ts";
import { openDatabase } from "../../../lambdas/shared/engine/sqlite/database.ts";
import { type QueueMessage, queueMessageSchema, seqOf } from "../../../lambdas/verification/task/messages.ts";
import { type Task, taskSchema } from "../../../lambdas/verification/task/task.ts";
import { type Thread, threadSchema } from "../../../lambdas/verification/task/thread.ts";
import { type AgentEntry, parseAgentLog } from "./agent-log.ts";

/** `isDead`: of the dead letters. */
export type Waiting = { message: QueueMessage; isDead: boolean };

export type Books = {
  record(requestId: string): Promise<Task | undefined>;
  hostTask(requestId: string): Promise<ExecutionTask | undefined>;
  /** The records of all threads. */
  threads(): Promise<Thread[]>;
  /** What the Verification zone's queues hold, but for messages that will be dropped: the chain of their task has gone on. */
  waiting(): Promise<Waiting[]>;
  agentLog(): AgentEntry[];
  close(): Promise<void>;
};

/** Of a host without an authenticator. */
const principal = "anyone";
const mostThreads = 100_000;

export function openBooks({ folder }: { folder: string }): Books {
  const fileOf = (zone: string) => join(folder, ".sekisho", `${zone}.db`);
  const verification = openSqliteEngine({ file: fileOf("verification") });
  const execution = openSqliteEngine({ file: fileOf("execution") });
  const database = openDatabase({ file: fileOf("verification") });
  const records = verification.taskStore({ parse: (json) => taskSchema.parse(json) });
  const threads = verification.taskStore({ parse: (json) => threadSchema.parse(json) });
  const hostTasks = execution.taskStore({ parse: parseExecutionTask });
  const messages = database.prepare("SELECT queue, body FROM messages ORDER BY seq");
  const agentFile = join(folder, "agent.log");
  return {
    record: (requestId) => records.get({ id: requestId }),
    hostTask: async (requestId) => hostTasks.get({ id: taskIdOf({ principal, requestId }) ?? "" }),
    threads: async () => (await threads.list({ index: "state", key: "thread", limit: mostThreads })).items,
    async waiting() {
      const rows = (messages.all() as { queue: string; body: string }[]).map(async ({ queue, body }) => {
        const message = queueMessageSchema.parse(JSON.parse(body));
        const task = await records.get({ id: message.requestId });
        const isSpent = task !== undefined && seqOf({ message, task }) < task.wakeSeq;
        return isSpent ? [] : [{ message, isDead: queue !== "tasks" }];
      });
      return (await Promise.all(rows)).flat();
    },
    agentLog: () => (existsSync(agentFile) ? parseAgentLog(readFileSync(agentFile, "utf8")) : []),
    async close() {
      await verification.close();
      await execution.close();
      await database.close();
    },
  };
}
