/** All records of one person in the Verification zone's store. */
import { uuidPattern } from "../../../contracts/envelope.ts";
import type { StoreIndex, TaskStore } from "../../../lambdas/shared/engine/ports.ts";
import { type Task, taskSchema } from "../../../lambdas/verification/task/task.ts";
import { parseHistoryEntry } from "../../../lambdas/verification/usage/entry.ts";
import { formatPerson, type Person, type StoredRecord } from "./person.ts";

/** In the order in which tasks go through them: one that moves meanwhile is not missed. */
const states = taskSchema.shape.state.options;

const longestSweepMs = 3600_000;

type Found = { id: string; revision: number };
export type FoundTask = Found & {
  isUnderWay: boolean;
  receivedAtMs: number;
  lastAtMs: number;
  destination?: string | undefined;
};
type FoundEntry = Found & { requestId: string; endedAtMs: number };

export type PersonRecords = {
  tasks: FoundTask[];
  /** Tasks of others whose question this person answered. */
  answered: (Found & { isUnderWay: boolean })[];
  history: FoundEntry[];
  quota: Found | undefined;
  /** Other workspaces under which tasks of the same user id are kept: those of a guest are under the one that was asked. */
  otherTeams: string[];
  /** Of another version of Sekisho, by id. */
  unreadable: string[];
};

/** Reads every task of the store: the person's own are under no index of theirs while they are under way. */
export async function findPerson({
  store,
  person,
  nowMs,
  signal,
}: {
  store: Pick<TaskStore<StoredRecord>, "get" | "list">;
  person: Person;
  nowMs: number;
  signal: AbortSignal;
}): Promise<PersonRecords> {
  const tasks = new Map<string, FoundTask>();
  const answered = new Map<string, PersonRecords["answered"][number]>();
  const otherTeams = new Set<string>();
  const unreadable = new Set<string>();
  for (const key of states) {
    for await (const record of listRecords({ store, index: "state", key, signal })) {
      const { id, revision } = record;
      const task = taskSchema.safeParse(record).data;
      const isOwn = record.principal === formatPerson(person);
      if (task === undefined && isOwn && uuidPattern.test(id)) unreadable.add(id);
      if (task === undefined) continue;
      const { team, user } = task.message;
      if (user === person.user && team !== person.team) otherTeams.add(team);
      if (isOwn) tasks.set(id, { id, revision, ...whatMatters({ task, nowMs }) });
      else if (isAnsweredBy({ task, person }))
        answered.set(id, { id, revision, isUnderWay: isUnderWay({ task, nowMs }) });
    }
  }
  const quota = await store.get({ id: `usage:user:${formatPerson(person)}` });
  return {
    tasks: [...tasks.values()],
    answered: [...answered.values()],
    history: await entriesOf({ store, person, signal }),
    quota: quota && { id: quota.id, revision: quota.revision },
    otherTeams: [...otherTeams],
    unreadable: [...unreadable],
  };
}

/** The last look at a thread comes two minutes after the answer: until then the task has something to do. Long after, it will not come. */
export function isUnderWay({ task, nowMs }: { task: Task; nowMs: number }): boolean {
  return task.state !== "done" || (!task.cleanupDone && nowMs - lastAtMs(task) < longestSweepMs);
}

export function isAnsweredBy({ task, person: { team, user } }: { task: Task; person: Person }): boolean {
  return task.message.team === team && task.question?.answer?.user === user;
}

function whatMatters({ task, nowMs }: { task: Task; nowMs: number }): Omit<FoundTask, "id" | "revision"> {
  const { receivedAtMs, call } = task;
  return {
    isUnderWay: isUnderWay({ task, nowMs }),
    receivedAtMs,
    destination: call?.destination,
    lastAtMs: lastAtMs(task),
  };
}

function lastAtMs({ history, receivedAtMs }: Task): number {
  return Math.max(receivedAtMs, history.at(-1)?.atMs ?? 0);
}

async function entriesOf({
  store,
  person,
  signal,
}: {
  store: Pick<TaskStore<StoredRecord>, "list">;
  person: Person;
  signal: AbortSignal;
}): Promise<FoundEntry[]> {
  const entries: FoundEntry[] = [];
  for await (const record of listRecords({ store, index: "principal", key: formatPerson(person), signal })) {
    const { id, revision, requestId, listedAtMs: endedAtMs } = parseHistoryEntry(record);
    entries.push({ id, revision, requestId, endedAtMs });
  }
  return entries;
}

// Listings of a store, page by page, only as far as they are read.

const pageSize = 50;

/** All records under one index key, in the order of the index. Throws where the signal aborts: half a listing is none. */
export async function* listRecords({
  store,
  index,
  key,
  signal,
}: {
  store: Pick<TaskStore<StoredRecord>, "list">;
  index: StoreIndex;
  key: string;
  signal: AbortSignal;
}): AsyncGenerator<StoredRecord, void, undefined> {
  let cursor: string | undefined;
  do {
    signal.throwIfAborted();
    const page = await store.list({ index, key, limit: pageSize, ...(cursor === undefined ? {} : { cursor }) });
    yield* page.items;
    cursor = page.cursor;
  } while (cursor !== undefined);
}
