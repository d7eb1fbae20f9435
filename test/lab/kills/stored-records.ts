/** Reads the records of the zones and the agent, on any engine, during a run or after it. */

import { taskStateSchema } from "@sekisho/contracts/methods.ts";
import { type ExecutionTask, parseExecutionTask } from "@sekisho/execution/tasks/execution-task.ts";
import type { TaskItem, TaskStore } from "@sekisho/runtime/engine/ports.ts";
import { type Task, taskSchema } from "@sekisho/verification/task/task.ts";
import { type Thread, threadSchema } from "@sekisho/verification/task/thread.ts";

export type StoredRecords = {
  record(requestId: string): Promise<Task | undefined>;
  /** Returns all tasks of the Execution zone by request id. */
  hostTasks(): Promise<Map<string, ExecutionTask>>;
  /** Returns the records of all threads. */
  threads(): Promise<Thread[]>;
  /** Returns a line for what the queues hold, without wake-ups that a later one has replaced. */
  queued(): Promise<string[]>;
  agentLog(): AgentEntry[];
  close(): Promise<void>;
};

/** A start or an end of the agent. Entries are in the order in which they were written. */
export type AgentEntry = { what: "start" | "end"; requestId: string; pid: string };

export function parseAgentLog(text: string): AgentEntry[] {
  return text
    .split("\n")
    .filter(Boolean)
    .map((line) => {
      const [what, requestId = "", pid = ""] = line.split(" ");
      return { what: what === "start" ? "start" : "end", requestId, pid };
    });
}

/** Returns for each request those whose agents were at work when its own started. Agents of a process that is gone have ended. */
export function overlapsOf(entries: readonly AgentEntry[]): Map<string, string[]> {
  const overlaps = new Map<string, string[]>();
  let working: AgentEntry[] = [];
  for (const entry of entries) {
    working = working.filter(
      ({ pid, requestId }) => pid === entry.pid && requestId !== entry.requestId,
    );
    if (entry.what === "end") continue;
    overlaps.set(
      entry.requestId,
      working.map(({ requestId }) => requestId),
    );
    working.push(entry);
  }
  return overlaps;
}

type OpenStore = <T extends TaskItem>(request: { parse: (json: unknown) => T }) => TaskStore<T>;

const pageSize = 100;

export function readStores({
  verification,
  execution,
}: {
  verification: OpenStore;
  execution: OpenStore;
}): Pick<StoredRecords, "record" | "hostTasks" | "threads"> {
  const records = verification({ parse: (json) => taskSchema.parse(json) });
  const threads = verification({ parse: (json) => threadSchema.parse(json) });
  const hostTasks = execution({ parse: parseExecutionTask });
  return {
    record: (requestId) => records.get({ id: requestId }),
    async hostTasks() {
      const tasks: ExecutionTask[] = [];
      for (const state of taskStateSchema.options) tasks.push(...(await allOf(hostTasks, state)));
      return new Map(tasks.map((task) => [String(task.requestId), task]));
    },
    threads: () => allOf(threads, "thread"),
  };
}

async function allOf<T extends TaskItem>(store: TaskStore<T>, state: string): Promise<T[]> {
  const all: T[] = [];
  let cursor: string | undefined;
  do {
    const page = await store.list({
      index: "state",
      key: state,
      limit: pageSize,
      ...(cursor && { cursor }),
    });
    all.push(...page.items);
    ({ cursor } = page);
  } while (cursor !== undefined);
  return all;
}
