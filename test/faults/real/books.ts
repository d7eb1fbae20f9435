/** What the zones and the agent wrote down, on whatever engine, read while they run or after. */
import type { ExecutionTask } from "../../../lambdas/execution/tasks/execution-task.ts";
import type { Task } from "../../../lambdas/verification/task/task.ts";
import type { Thread } from "../../../lambdas/verification/task/thread.ts";
import type { AgentEntry } from "./agent-log.ts";

export type Books = {
  record(requestId: string): Promise<Task | undefined>;
  /** All tasks of the Execution zone, by request id. */
  hostTasks(): Promise<Map<string, ExecutionTask>>;
  /** The records of all threads. */
  threads(): Promise<Thread[]>;
  /** What the queues hold, as readable lines; without messages that will be dropped, as the chain of their task has gone on. */
  queued(): Promise<string[]>;
  agentLog(): AgentEntry[];
  close(): Promise<void>;
};
