/** Reads the usage history of some days, and writes it to a file. Days are of UTC. */
import { randomUUID } from "node:crypto";
import { open, rename, rm } from "node:fs/promises";
import type { TaskStore } from "@sekisho/runtime/engine/ports.ts";
import {
  createHistoryState,
  formatDay,
  type HistoryEntry,
  parseHistoryEntry,
} from "@sekisho/verification/usage/entry.ts";
import { UsageError } from "../command.ts";
import type { StoredRecord } from "../tasks/stored-task.ts";
import { listItems } from "../zone/list-items.ts";

const dayMs = 24 * 3600_000;
const daysByDefault = 30;
/** The usage history cannot be kept for longer. */
const mostDays = 3660;

type DayOptions = { from?: string | undefined; to?: string | undefined; nowMs: number };

/** The days from the first to the last, both included. By default the last thirty, with today. */
export function listDays({ from, to, nowMs }: DayOptions): string[] {
  const lastMs = parseDay(to ?? formatDay(nowMs), "--to");
  const firstMs =
    from === undefined ? lastMs - (daysByDefault - 1) * dayMs : parseDay(from, "--from");
  const count = Math.round((lastMs - firstMs) / dayMs) + 1;
  if (count < 1)
    throw new UsageError(`--from ${formatDay(firstMs)} is after --to ${formatDay(lastMs)}.`);
  if (count > mostDays)
    throw new UsageError(`${count} days are too many. The history holds at most ${mostDays} days.`);
  return Array.from({ length: count }, (_, number) => formatDay(firstMs + number * dayMs));
}

function parseDay(day: string, option: string): number {
  const ms = /^\d{4}-\d{2}-\d{2}$/.test(day) ? Date.parse(`${day}T00:00:00Z`) : Number.NaN;
  // JavaScript takes the 31st of February for a day of March.
  if (!Number.isNaN(ms) && formatDay(ms) === day) return ms;
  throw new UsageError(`${option} must be a day such as 2026-11-30, not "${day}".`);
}

type EntrySearch = {
  store: Pick<TaskStore<StoredRecord>, "list">;
  days: readonly string[];
  team: string | undefined;
  user: string | undefined;
  unread: () => void;
  signal: AbortSignal;
};

/** In the order in which tasks ended, to the second or so. Calls `unread` for an entry of another version. */
export async function* readEntries(
  search: EntrySearch,
): AsyncGenerator<HistoryEntry, void, undefined> {
  const { store, days, team, user, unread, signal } = search;
  for (const day of days) {
    for await (const record of listItems({
      store,
      index: "state",
      key: createHistoryState(day),
      signal,
    })) {
      const entry = readEntry(record);
      if (entry === undefined) unread();
      else if ((team ?? entry.team) === entry.team && (user ?? entry.user) === entry.user)
        yield entry;
    }
  }
}

function readEntry(record: StoredRecord): HistoryEntry | undefined {
  try {
    return parseHistoryEntry(record);
  } catch {
    return undefined;
  }
}

/** Writes an export that appears whole or not at all. Only its owner may read it: it says who asked what. */
export async function writeLines({
  file,
  lines,
}: {
  file: string;
  lines: AsyncIterable<string>;
}): Promise<number> {
  const part = `${file}.${randomUUID()}.part`;
  const handle = await open(part, "wx", 0o600).catch((cause: NodeJS.ErrnoException) => {
    throw new Error(
      `${file} cannot be written (${cause.code}). --out needs a file in a folder that exists.`,
      {
        cause,
      },
    );
  });
  try {
    let count = 0;
    for await (const line of lines) {
      await handle.appendFile(`${line}\n`);
      count += 1;
    }
    await handle.close();
    await rename(part, file);
    return count;
  } catch (thrown) {
    await handle.close().catch(() => {});
    await rm(part, { force: true });
    throw thrown;
  }
}
