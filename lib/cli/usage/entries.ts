/** Reads the use of some days, and writes it to a file. Days are of UTC. */
import { randomUUID } from "node:crypto";
import { open, rename, rm } from "node:fs/promises";
import { cursorAt } from "@sekisho/runtime/engine/aws/task-store.ts";
import { taskSchema } from "@sekisho/verification/task/task.ts";
import { toUsageEntry, type UsageEntry } from "@sekisho/verification/usage/entry.ts";
import { UsageError } from "../command.ts";
import { parseRecord, type StoredRecord } from "../tasks/stored-task.ts";
import { listItems } from "../zone/list-items.ts";
import type { OpenZone } from "../zone/open-zone.ts";
import { formerStateOf, readFormerEntry } from "./former-history.ts";

const dayMs = 24 * 3600_000;
const daysByDefault = 30;
/** Finished tasks cannot be kept for longer. */
const maxDays = 3660;

type DayOptions = { from?: string | undefined; to?: string | undefined; nowMs: number };

/** The days from the first to the last, both included. By default the last thirty, with today. */
export function listDays({ from, to, nowMs }: DayOptions): string[] {
  const lastMs = parseDay(to ?? formatDay(nowMs), "--to");
  const firstMs =
    from === undefined ? lastMs - (daysByDefault - 1) * dayMs : parseDay(from, "--from");
  const count = Math.round((lastMs - firstMs) / dayMs) + 1;
  if (count < 1)
    throw new UsageError(`--from ${formatDay(firstMs)} is after --to ${formatDay(lastMs)}.`);
  if (count > maxDays)
    throw new UsageError(`${count} days are too many. Tasks are kept for at most ${maxDays} days.`);
  return Array.from({ length: count }, (_, number) => formatDay(firstMs + number * dayMs));
}

function parseDay(day: string, option: string): number {
  const ms = /^\d{4}-\d{2}-\d{2}$/.test(day) ? Date.parse(`${day}T00:00:00Z`) : Number.NaN;
  // JavaScript takes the 31st of February for a day of March.
  if (!Number.isNaN(ms) && formatDay(ms) === day) return ms;
  throw new UsageError(`${option} must be a day such as 2026-11-30, not "${day}".`);
}

function formatDay(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}

type EntrySearch = {
  zone: Pick<OpenZone, "store" | "at">;
  days: readonly string[];
  team: string | undefined;
  user: string | undefined;
  onUnreadable: () => void;
  signal: AbortSignal;
};

/** Calls `onUnreadable` for a record of another version. */
export async function* readEntries(
  search: EntrySearch,
): AsyncGenerator<UsageEntry, void, undefined> {
  const { team, user, onUnreadable } = search;
  for await (const entry of readAll(search)) {
    if (entry === undefined) onUnreadable();
    else if ((team ?? entry.team) === entry.team && (user ?? entry.user) === entry.user)
      yield entry;
  }
}

type Reading = AsyncGenerator<UsageEntry | undefined, void, undefined>;

/**
 * The entries of version 1.0.0 come first, by day. A task may have one too: its worker died after it had written the entry, and then a worker
 * of this version ended the task.
 */
async function* readAll(search: EntrySearch): Reading {
  const formerIds = new Set<string>();
  for await (const entry of readFormerEntries(search)) {
    if (entry !== undefined) formerIds.add(entry.requestId);
    yield entry;
  }
  for await (const entry of readTasks(search))
    if (entry === undefined || !formerIds.has(entry.requestId)) yield entry;
}

async function* readFormerEntries({ zone, days, signal }: EntrySearch): Reading {
  const store = zone.store({ parse: parseRecord });
  for (const day of days) {
    const key = formerStateOf(day);
    for await (const record of listItems({ store, index: "state", key, signal }))
      yield readFormerEntry(record);
  }
}

/** On AWS, the index has finished tasks by the time of their end. On one machine it has them by that of their creation, so all are read. */
async function* readTasks({ zone, days, signal }: EntrySearch): Reading {
  const store = zone.store({ parse: parseRecord });
  const fromMs = Date.parse(`${days[0]}T00:00:00Z`);
  const endMs = Date.parse(`${days.at(-1)}T00:00:00Z`) + dayMs;
  const isByEnd = !("file" in zone.at);
  const listing = {
    ...{ store, index: "state" as const, key: "done", signal },
    ...(isByEnd && { cursor: cursorAt(fromMs) }),
  };
  for await (const record of listItems(listing)) {
    const { endedAtMs } = record;
    if (endedAtMs === undefined || endedAtMs < fromMs) continue;
    if (endedAtMs < endMs) yield readTask(record);
    else if (isByEnd) return;
  }
}

function readTask(record: StoredRecord): UsageEntry | undefined {
  const task = taskSchema.safeParse(record).data;
  return task && toUsageEntry(task);
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
  } catch (error) {
    await handle.close().catch(() => {});
    await rm(part, { force: true });
    throw error;
  }
}
