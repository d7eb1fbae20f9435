/** The stores of both zones, read as their zones read them. */
import { taskStateSchema } from "../../../contracts/methods.ts";
import { type ExecutionTask, parseExecutionTask } from "../../../lambdas/execution/tasks/execution-task.ts";
import type { TaskItem, TaskStore } from "../../../lambdas/shared/engine/ports.ts";
import { taskSchema } from "../../../lambdas/verification/task/task.ts";
import { threadSchema } from "../../../lambdas/verification/task/thread.ts";
import type { Books } from "./books.ts";

type OpenStore = <T extends TaskItem>(request: { parse: (json: unknown) => T }) => TaskStore<T>;

const pageSize = 100;

export function readStores({
  verification,
  execution,
}: {
  verification: OpenStore;
  execution: OpenStore;
}): Pick<Books, "record" | "hostTasks" | "threads"> {
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
    const page = await store.list({ index: "state", key: state, limit: pageSize, ...(cursor && { cursor }) });
    all.push(...page.items);
    ({ cursor } = page);
  } while (cursor !== undefined);
  return all;
}
