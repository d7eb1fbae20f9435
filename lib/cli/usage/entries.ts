/** The usage history of some days, read page by page. */
import type { TaskStore } from "../../../lambdas/shared/engine/ports.ts";
import { createHistoryState, type HistoryEntry, parseHistoryEntry } from "../../../lambdas/verification/usage/entry.ts";
import { listRecords } from "../data/find-person.ts";
import type { StoredRecord } from "../data/person.ts";

/** In the order in which tasks ended, to the second or so. `unread` is called for what another version wrote. */
export async function* readEntries({
  store,
  days,
  team,
  user,
  unread,
  signal,
}: {
  store: Pick<TaskStore<StoredRecord>, "list">;
  days: readonly string[];
  team: string | undefined;
  user: string | undefined;
  unread: () => void;
  signal: AbortSignal;
}): AsyncGenerator<HistoryEntry, void, undefined> {
  for (const day of days) {
    for await (const record of listRecords({ store, index: "state", key: createHistoryState(day), signal })) {
      const entry = readable(record);
      if (entry === undefined) unread();
      else if ((team ?? entry.team) === entry.team && (user ?? entry.user) === entry.user) yield entry;
    }
  }
}

function readable(record: StoredRecord): HistoryEntry | undefined {
  try {
    return parseHistoryEntry(record);
  } catch {
    return undefined;
  }
}
