/** Finds, counts and erases the stored data of one person, in a stage or on one machine. */
import { existsSync } from "node:fs";
import { readdir, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as wait } from "node:timers/promises";
import { uuidPattern } from "@sekisho/contracts/envelope.ts";
import { deriveSessionKey } from "@sekisho/execution/tasks/conversation-record.ts";
import type { ErasableStore } from "@sekisho/runtime/engine/ports.ts";
import { conflict, retryOnConflict } from "@sekisho/runtime/engine/records.ts";
import { isInteraction, type QueueMessage } from "@sekisho/verification/task/messages.ts";
import { personKeyOf, type Task, taskSchema } from "@sekisho/verification/task/task.ts";
import * as z from "zod";
import { changeRules, openRules, readRules } from "../allow/rule-zone.ts";
import { AwsFailure } from "../aws/aws-failure.ts";
import { openFilesBucket } from "../aws/files-bucket.ts";
import { parseDeadLetter, withDeadLetters } from "../dead-letters/archive.ts";
import { sendCancel } from "../tasks/cancel-task.ts";
import { createTombstone, parseRecord, type StoredRecord } from "../tasks/stored-task.ts";
import { type FormerEntry, formerKeyOf, parseFormerEntry } from "../usage/former-history.ts";
import * as executionZone from "../zone/execution-store.ts";
import { scanItems } from "../zone/list-items.ts";
import type { OpenZone } from "../zone/open-zone.ts";

export type Person = { team: string; user: string };
type Search = { zone: OpenZone; person: Person; signal: AbortSignal };

/** The records of the person in the Verification zone's store. */
export type PersonData = Search & {
  nowMs: number;
  tasks: Task[];
  /** Tasks of others whose question this person answered. */
  answered: Task[];
  /** Entries of version 1.0.0. */
  history: FormerEntry[];
  quotas: StoredRecord[];
  /** Other workspaces with tasks of the same user id. */
  otherTeams: Set<string>;
};

/** Reads every record of the store, because no index leads from a person to finished tasks. */
export async function findData({ zone, person, signal }: Search): Promise<PersonData> {
  const store = zone.store({ parse: parseRecord });
  const [principal, historyKey] = [personKeyOf(person), formerKeyOf(person)];
  const quota = await store.get({ id: `usage:user:${principal}` });
  const data: PersonData = {
    ...{ zone, person, signal, nowMs: Date.now() },
    ...{ tasks: [], answered: [], history: [], otherTeams: new Set() },
    quotas: quota === undefined ? [] : [quota],
  };
  for await (const record of scanItems({ store, signal })) {
    if (record.principal === historyKey) data.history.push(parseFormerEntry(record));
    const task = taskSchema.safeParse(record).data;
    const isOwn = record.principal === principal;
    if (task === undefined && isOwn && uuidPattern.test(record.id)) {
      throw new Error(
        `Another version of Sekisho wrote the person's task ${record.id}. Run the command with that version.`,
      );
    }
    if (task === undefined) continue;
    const { team, user } = task.message;
    if (user === person.user && team !== person.team) data.otherTeams.add(team);
    if (isOwn) data.tasks.push(task);
    else if (isAnsweredBy(task, person)) data.answered.push(task);
  }
  return data;
}

/** Also by one of several approvals. */
function isAnsweredBy({ message, question }: Task, { team, user }: Person): boolean {
  const { answer, approvals } = question ?? {};
  const users = [answer?.user, ...(approvals?.given ?? []).map((approval) => approval.user)];
  return message.team === team && users.includes(user);
}

type Question = NonNullable<Task["question"]>;

/** The question without the name of the person. */
function withoutAnswerer({ answer, approvals, ...question }: Question, user: string): Question {
  const hide = (id: string) => (id === user ? "" : id);
  const given = approvals?.given.map((approval) => ({ ...approval, user: hide(approval.user) }));
  const approvedBy = answer?.approvedBy?.map(hide);
  return {
    ...question,
    ...(answer && {
      answer: { ...answer, user: hide(answer.user), ...(approvedBy && { approvedBy }) },
    }),
    ...(approvals && given && { approvals: { ...approvals, given } }),
  };
}

/** The cleanup comes two minutes after the answer. If it has not come after this time, it never will. */
const maxCleanupMs = 3600_000;

/** A finished task is under way until the worker has looked at its thread once more. */
export function isUnderWay(task: Task): boolean {
  if (task.state !== "done") return true;
  return !task.cleanupDone && Date.now() - lastAtMs(task) < maxCleanupMs;
}

function lastAtMs({ history, receivedAtMs }: Task): number {
  return Math.max(receivedAtMs, history.at(-1)?.atMs ?? 0);
}

/** The request ids of the tasks that ended after `sinceMs`. Data outside of the store is found by them. */
function listIds({ tasks, history }: PersonData, sinceMs = 0): Set<string> {
  const recent = tasks.filter((task) => lastAtMs(task) > sinceMs);
  const recentHistory = history.filter(({ listedAtMs }) => listedAtMs > sinceMs);
  return new Set([...recent.map(({ id }) => id), ...recentHistory.map((one) => one.requestId)]);
}

export type Counts = Awaited<ReturnType<typeof countData>>;

export async function countData(data: PersonData) {
  const { zone, person, tasks } = data;
  const { allowlist, slack } = zone.config();
  const storedRules = await readRules({ store: openRules(zone) });
  return {
    tasks: tasks.length,
    underWay: tasks.filter(isUnderWay).length,
    history: data.history.length,
    answered: data.answered.length,
    quotas: data.quotas.length,
    files: await eraseFiles(data, { isDryRun: true }),
    deadLetters: await eraseDeadLetters(data, { isDryRun: true }),
    /** A text says why they cannot be counted. */
    execution: await eraseExecutionRecords({ ...executionPart(data), isDryRun: true }).catch(
      (error) => `not read. ${requireAwsFailure(error, data).message}`,
    ),
    /** The numbers of the rules of `sekisho allow` that name the person. */
    rules: (storedRules?.rules ?? []).flatMap(({ rule, number }) =>
      isAbout(rule, person) ? [number] : [],
    ),
    /** Where the configuration names the person. */
    configuration: Object.entries({ allowlist, "slack.admins": slack.admins }).flatMap(
      ([path, rules]) =>
        rules.flatMap((rule, at) => (isAbout(rule, person) ? [`${path}[${at}]`] : [])),
    ),
  };
}

type Rule = { team?: string | undefined; user?: string | undefined };

/** A rule without a workspace fits the person in every one. */
function isAbout({ team, user }: Rule, person: Person): boolean {
  return user === person.user && (team === undefined || team === person.team);
}

/** Returns a failure of AWS, which the command can do without. Throws anything else. */
function requireAwsFailure(error: unknown, { signal }: Search): AwsFailure {
  if (error instanceof AwsFailure && !signal.aborted) return error;
  throw error;
}

type Waiting = { pollMs?: number; maxPolls?: number };

/** Cancels the person's tasks and waits until they are over. Resolves to false if some are not after `maxPolls`. */
export async function cancelTasks(
  { zone, tasks, signal }: PersonData,
  { pollMs = 2000, maxPolls = 180 }: Waiting = {},
): Promise<boolean> {
  const store = zone.store({ parse: parseRecord });
  const running = new Set(tasks.filter(isUnderWay));
  for (const task of running) await sendCancel({ zone, task });
  for (let poll = 0; poll < maxPolls; poll++) {
    for (const task of running) {
      const latest = taskSchema.safeParse(await store.get({ id: task.id })).data;
      if (latest === undefined || !isUnderWay(latest)) running.delete(task);
    }
    if (running.size === 0) return true;
    await wait(pollMs, undefined, { signal });
  }
  return false;
}

/** `idsFile`: for the request ids of the Execution zone's records, if AWS refuses to erase these. */
type Erasure = { withRules: boolean; idsFile: string };
/** `answered`: the ids of running tasks of others that need an answer of the person. */
type LeftData = { answered: string[]; executionFailure: AwsFailure | undefined };

/**
 * Erases everything. Data that is found by request id goes before the records that hold the ids, and tasks go last, so that an
 * interrupted command can be repeated. Throws if a task of the person runs.
 */
export async function eraseData(
  data: PersonData,
  { withRules, idsFile }: Erasure,
): Promise<LeftData> {
  const { zone, person, nowMs } = data;
  let executionFailure: AwsFailure | undefined;
  const part = executionPart(data);
  try {
    await eraseExecutionRecords({ ...part, isDryRun: false });
  } catch (error) {
    executionFailure = requireAwsFailure(error, data);
    await writeFile(idsFile, `${[...part.ids].join("\n")}\n`, { mode: 0o600, flag: "wx" });
  }
  await eraseFiles(data, { isDryRun: false });
  await eraseDeadLetters(data, { isDryRun: false });
  if (withRules) {
    await changeRules({
      store: openRules(zone),
      decide(currentRules) {
        const rules = currentRules.rules.filter(({ rule }) => !isAbout(rule, person));
        return {
          stored:
            rules.length === currentRules.rules.length ? currentRules : { ...currentRules, rules },
        };
      },
    });
  }
  const answeredTasks = await eraseRecords(data);
  if ("file" in zone.at)
    for (const file of [zone.at.file, executionZone.executionFile(zone.at.file)])
      vacuum(file, nowMs);
  return { answered: answeredTasks, executionFailure };
}

/** Erases the records in the Verification zone's store, one by one, by compare-and-set. */
async function eraseRecords(data: PersonData): Promise<LeftData["answered"]> {
  const { zone, person, nowMs, signal } = data;
  const store = zone.store({ parse: parseRecord });

  /** `decide` returns the same record to leave it, and undefined to remove it. */
  function change(id: string, decide: (record: StoredRecord) => StoredRecord | undefined) {
    signal.throwIfAborted();
    return retryOnConflict({
      async attempt() {
        const record = await store.get({ id });
        const next = record && decide(record);
        if (record === undefined || next === record) return next;
        const isDone = next === undefined ? store.remove(record) : store.replace({ item: next });
        return (await isDone) ? next : conflict;
      },
      exhausted: () =>
        new Error(`The zone keeps changing the record ${id}. Run the command again.`),
    });
  }

  const underWayIds = new Set<string>();
  for (const { id } of data.answered) {
    await change(id, (record) => {
      const task = taskSchema.parse(record);
      const { question } = task;
      if (question === undefined || !isAnsweredBy(task, person)) return record;
      if (!isUnderWay(task)) return { ...record, question: withoutAnswerer(question, person.user) };
      underWayIds.add(id);
      return record;
    });
  }
  for (const { id } of [...data.quotas, ...data.history]) await change(id, () => undefined);
  for (const { id } of data.tasks) {
    await change(id, (record) => {
      const task = taskSchema.parse(record);
      // An operator may have redriven it in the meantime.
      if (isUnderWay(task))
        throw new Error(`Task ${id} runs again. Run the command again when it has ended.`);
      return createTombstone({ task, nowMs });
    });
  }
  return [...underWayIds];
}

/** A dry run only counts. */
type Mode = { isDryRun: boolean };

/** The Execution zone keeps a task for a day after its end; a little longer, because clocks differ. */
const executionLifeMs = 26 * 3600_000;
/** The longest grace period for an expired lease that a host can be configured with. */
const maxGraceMs = 300_000;
const runningSchema = z.object({
  state: z.literal("working"),
  lease: z.object({ untilMs: z.number() }),
});

function executionPart(data: PersonData) {
  // The value that an agent keeps of a conversation names no task, and lives as long as the task's own record.
  const sessionKeys = data.tasks.flatMap(({ call }) =>
    call ? [deriveSessionKey(call.sessionId)] : [],
  );
  const ids = new Set([...listIds(data, data.nowMs - executionLifeMs), ...sessionKeys]);
  return { at: data.zone.at, ids, signal: data.signal };
}

type ExecutionPart = Mode & {
  at: executionZone.ExecutionTarget;
  ids: ReadonlySet<string>;
  signal: AbortSignal;
};

/** Erases the records of these request ids and session keys, which name no person. Rejects with an AwsFailure if AWS refuses a call. */
export async function eraseExecutionRecords(part: ExecutionPart): Promise<number> {
  const { at, ids, isDryRun, signal } = part;
  if (ids.size === 0) return 0;
  async function work(store: ErasableStore<StoredRecord>): Promise<number> {
    let count = 0;
    for await (const record of scanItems({ store, signal })) {
      // A record of a task that came over A2A has the request id in its correlation id.
      const { requestId, correlationId, sessionKey } = record;
      if (![requestId, correlationId, sessionKey].some((id) => ids.has(String(id).toLowerCase())))
        continue;
      // The Verification zone has ended the task, so nobody reads a record without a running agent.
      const lease = runningSchema.safeParse(record).data?.lease;
      const isRunning = lease !== undefined && Date.now() < lease.untilMs + maxGraceMs;
      if (!isDryRun && (isRunning || !(await store.remove(record)))) {
        throw new Error(
          "An agent still works on one of the tasks. Run the command again when it has ended.",
        );
      }
      count += 1;
    }
    return count;
  }
  return (await executionZone.withExecutionStore({ at, parse: parseRecord, work, signal })) ?? 0;
}

/** On one machine no dead letters are kept. */
async function eraseDeadLetters(data: PersonData, { isDryRun }: Mode): Promise<number> {
  const { person, signal } = data;
  const { at } = data.zone;
  if ("file" in at) return 0;
  const ids = listIds(data);
  const isPerson = ({ team, user }: Person) => team === person.team && user === person.user;
  function isAboutPerson(message: QueueMessage): boolean {
    if (isInteraction(message)) return isPerson(message);
    const isAsk = message.type === "ask" || message.type === "message_change";
    return isAsk ? isPerson(message.message) : ids.has(message.requestId);
  }
  let count = 0;
  const { region } = at.stage.verification;
  const archive = { queueUrl: at.outputs.deadLettersUrl, region, signal };
  await withDeadLetters(archive, async (deadLetters, remove) => {
    for (const deadLetter of deadLetters) {
      const { message } = parseDeadLetter(deadLetter);
      if (message === undefined || !isAboutPerson(message)) continue;
      if (!isDryRun) await remove(deadLetter);
      count += 1;
    }
  });
  return count;
}

/** Files expire after a day, and are removed a day or so later. */
const filesLifeMs = 4 * 24 * 3600_000;

/** The files of a task lie below its request id, in a folder or in a bucket. */
async function eraseFiles(data: PersonData, { isDryRun }: Mode): Promise<number> {
  const { signal, nowMs } = data;
  const { at } = data.zone;
  const ids = listIds(data, nowMs - filesLifeMs);
  let count = 0;
  if ("file" in at) {
    for (const id of ids) {
      const folder = join(dirname(at.file), "files", id);
      if (existsSync(folder)) count += (await readdir(folder)).length;
      if (!isDryRun) await rm(folder, { recursive: true, force: true });
    }
  } else if (at.outputs.filesBucket !== "") {
    const { region } = at.stage.verification;
    const files = openFilesBucket({ bucket: at.outputs.filesBucket, region, signal });
    for (const id of ids)
      for await (const key of files.listKeys(`${id}/`)) {
        if (!isDryRun) await files.remove(key);
        count += 1;
      }
  }
  return count;
}

const busyTimeoutMs = 5000;

/**
 * Rewrites a sqlite file and empties its write-ahead log. sqlite overwrites deleted records with zeros, but copies of their index
 * entries, which name the person, stay in pages that it has rebalanced.
 */
function vacuum(file: string, nowMs: number): void {
  if (!executionZone.hasTables(file)) return;
  const database = new DatabaseSync(file, { timeout: busyTimeoutMs });
  try {
    // No listing has expired records, so nobody finds out whom they name.
    database.prepare("DELETE FROM tasks WHERE expires_at_ms <= ?").run(nowMs);
    database.exec("VACUUM");
    const { busy } = { ...database.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get() };
    if (busy !== 0) throw new Error("busy");
  } catch (cause) {
    throw new Error(
      `All records are deleted, but ${file} may still hold them, because another process uses the file. Stop that process, and run the command again.`,
      { cause },
    );
  } finally {
    database.close();
  }
}
