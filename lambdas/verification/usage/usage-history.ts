/** Writes the usage history: one record of the task store for each task that is over. */
import type { Config } from "../../shared/config/schema.ts";
import type { TaskStore } from "../../shared/engine/ports.ts";
import type { Task } from "../task/task.ts";
import { createHistoryEntry, type HistoryEntry } from "./entry.ts";

export type UsageHistory = {
  /** Repeated, it changes nothing. Rejects where the store is away. */
  note(request: { task: Task }): Promise<void>;
};

/** With a retention of no days nothing is written. */
export function createUsageHistory({
  store,
  settings,
  now,
}: {
  store: Pick<TaskStore<HistoryEntry>, "create">;
  settings: Config["usageHistory"];
  now: () => number;
}): UsageHistory {
  return {
    async note({ task }) {
      if (settings.retentionDays === 0) return;
      const item = entryIn({ task, settings, nowMs: now() });
      if (item !== undefined) await store.create({ item });
    },
  };
}

/** A task of which no entry can be made is missing in the history; it must end all the same. */
function entryIn(request: Parameters<typeof createHistoryEntry>[0]): HistoryEntry | undefined {
  try {
    return createHistoryEntry(request);
  } catch {
    return undefined;
  }
}
