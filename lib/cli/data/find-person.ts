/** Finds all records of one person in the Verification zone's store. */
import { uuidPattern } from "../../../contracts/envelope.ts";
import type { ErasableStore } from "../../../lambdas/shared/engine/ports.ts";
import { personKeyOf, type Task, taskSchema } from "../../../lambdas/verification/task/task.ts";
import { formatHistoryKey, parseHistoryEntry } from "../../../lambdas/verification/usage/entry.ts";
import { scanItems } from "../zone/list-items.ts";
import type { Person, StoredRecord } from "./person.ts";

/** The cleanup comes two minutes after the answer. If it has not come after this time, it never will. */
const longestCleanupMs = 3600_000;

type Found = { id: string; revision: number };
type FoundTask = Found & {
  isUnderWay: boolean;
  lastAtMs: number;
  destination?: string | undefined;
};

export type PersonRecords = {
  tasks: FoundTask[];
  /** Tasks of others whose question this person answered. */
  answered: (Found & { isUnderWay: boolean })[];
  history: (Found & { requestId: string; endedAtMs: number })[];
  quota: Found | undefined;
  /** Other workspaces with tasks of the same user id: a guest's tasks are under the workspace in which the app was asked. */
  otherTeams: string[];
  /** The ids of the person's tasks that another version of Sekisho wrote. */
  unreadable: string[];
};

type PersonSearch = {
  store: Pick<ErasableStore<StoredRecord>, "get" | "scan">;
  person: Person;
  nowMs: number;
  signal: AbortSignal;
};

/** Reads every record of the store, because no index leads from a person to finished tasks. */
export async function findPerson({
  store,
  person,
  nowMs,
  signal,
}: PersonSearch): Promise<PersonRecords> {
  const tasks = new Map<string, FoundTask>();
  const answered = new Map<string, PersonRecords["answered"][number]>();
  const otherTeams = new Set<string>();
  const unreadable = new Set<string>();
  const history: PersonRecords["history"] = [];
  const principal = personKeyOf(person);
  const historyKey = formatHistoryKey(person);
  for await (const record of scanItems({ store, signal })) {
    const { id, revision } = record;
    if (record.principal === historyKey) {
      const { requestId, listedAtMs } = parseHistoryEntry(record);
      history.push({ id, revision, requestId, endedAtMs: listedAtMs });
      continue;
    }
    const task = taskSchema.safeParse(record).data;
    const isOwn = record.principal === principal;
    if (task === undefined && isOwn && uuidPattern.test(id)) unreadable.add(id);
    if (task === undefined) continue;
    const found = { id, revision, isUnderWay: isUnderWay({ task, nowMs }) };
    const { team, user } = task.message;
    if (user === person.user && team !== person.team) otherTeams.add(team);
    if (isOwn)
      tasks.set(id, { ...found, lastAtMs: lastAtMs(task), destination: task.call?.destination });
    else if (isAnsweredBy({ task, person })) answered.set(id, found);
  }
  const quota = await store.get({ id: `usage:user:${principal}` });
  return {
    tasks: [...tasks.values()],
    answered: [...answered.values()],
    history,
    quota,
    otherTeams: [...otherTeams],
    unreadable: [...unreadable],
  };
}

/** A finished task is under way until the worker has looked at its thread once more. */
export function isUnderWay({ task, nowMs }: { task: Task; nowMs: number }): boolean {
  return task.state !== "done" || (!task.cleanupDone && nowMs - lastAtMs(task) < longestCleanupMs);
}

export function isAnsweredBy({
  task,
  person: { team, user },
}: {
  task: Task;
  person: Person;
}): boolean {
  return task.message.team === team && task.question?.answer?.user === user;
}

function lastAtMs({ history, receivedAtMs }: Task): number {
  return Math.max(receivedAtMs, history.at(-1)?.atMs ?? 0);
}
