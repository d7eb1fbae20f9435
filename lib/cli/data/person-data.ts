/** All data of one person in a zone: the store's records, the data beside them, and rules that name the person. */
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { defaultAwsCredentials } from "../../../lambdas/shared/aws/default-credentials.ts";
import { createEndpointResolver } from "../../../lambdas/shared/aws/environment.ts";
import { AwsFailure } from "../aws/aws-failure.ts";
import { executionFile, hasTables } from "../zone/execution-store.ts";
import { createDeadLetters } from "./dead-letters.ts";
import { eraseRecords } from "./erase-records.ts";
import { createExecutionRecords } from "./execution-records.ts";
import { createBucketFiles, createLocalFiles } from "./files.ts";
import type { PersonRecords } from "./find-person.ts";
import type { DataPart, Person, RecordZone } from "./person.ts";
import { listConfigPaths, listRulesOfPerson, removeRules } from "./rules.ts";
import { type Counts, countRecords } from "./text.ts";

type PersonData = {
  zone: RecordZone;
  person: Person;
  found: PersonRecords;
  nowMs: number;
  signal: AbortSignal;
};

export async function countAll(data: PersonData): Promise<Counts> {
  const { zone, person, found, signal } = data;
  const { files, deadLetters, execution } = createDataParts(data);
  const ids = listIds(data);
  const rules = await listRulesOfPerson({ rules: zone.rules, person });
  return {
    ...countRecords(found),
    files: await files?.({ ids: ids.files }),
    deadLetters: await deadLetters?.({ ids: ids.all }),
    execution: await execution({ ids: ids.execution }).catch((thrown: unknown) => {
      if (!(thrown instanceof AwsFailure) || signal.aborted) throw thrown;
      return `not read. ${thrown.message}`;
    }),
    rules: rules.map(({ number }) => number),
    configuration: listConfigPaths({ config: zone.config(), person }),
  };
}

type PersonErasure = PersonData & {
  withRules: boolean;
  leftOver: (ids: ReadonlySet<string>, why: AwsFailure) => Promise<void>;
};

/**
 * Erases everything. Data that is found by request id goes before the records that hold the ids, so that an interrupted command
 * can be repeated. If the Execution zone's store cannot be reached, `leftOver` gets the ids before they are erased here.
 * Resolves to the ids of open tasks of others that need an answer of the person.
 */
export async function eraseAll({ withRules, leftOver, ...data }: PersonErasure): Promise<string[]> {
  const { zone, person, nowMs, signal } = data;
  const { files, deadLetters, execution } = createDataParts(data);
  const ids = listIds(data);
  await execution({ ids: ids.execution, erase: true }).catch(async (thrown: unknown) => {
    if (!(thrown instanceof AwsFailure) || signal.aborted) throw thrown;
    await leftOver(ids.execution, thrown);
  });
  await files?.({ ids: ids.files, erase: true });
  await deadLetters?.({ ids: ids.all, erase: true });
  if (withRules) await removeRules({ rules: zone.rules, person });
  const left = await eraseRecords({ ...data, store: zone.store });
  if ("file" in zone.at)
    for (const file of [zone.at.file, executionFile(zone.at.file)]) vacuum({ file, nowMs });
  return left;
}

type DataParts = { files?: DataPart; deadLetters?: DataPart; execution: DataPart };

/** On one machine dead letters are not kept. */
function createDataParts({ zone: { at }, person, signal }: PersonData): DataParts {
  const execution = createExecutionRecords({ at, signal });
  if ("file" in at)
    return { files: createLocalFiles({ folder: join(dirname(at.file), "files") }), execution };
  const { filesBucket: bucket, deadLettersUrl: queueUrl } = at.outputs;
  const { region } = at.stage.verification;
  const aws = {
    region,
    credentials: defaultAwsCredentials(),
    endpointOf: createEndpointResolver({ region }),
  };
  const deadLetters = createDeadLetters({ person, queueUrl, region, signal });
  return {
    ...(bucket !== "" && { files: createBucketFiles({ bucket, aws, signal }) }),
    deadLetters,
    execution,
  };
}

/** Files expire after a day, and are removed a day or so later. */
const filesLifeMs = 4 * 24 * 3600_000;
/** The Execution zone keeps a task for a day after its end; a little longer, because clocks differ. */
const executionLifeMs = 26 * 3600_000;

/** The request ids under which data may lie elsewhere. Older data has expired there. */
function listIds({ found: { tasks, history }, nowMs }: PersonData) {
  const ended = [
    ...tasks.map(({ id, lastAtMs }) => ({ id, atMs: lastAtMs })),
    ...history.map(({ requestId, endedAtMs }) => ({ id: requestId, atMs: endedAtMs })),
  ];
  const within = (ms: number) =>
    new Set(ended.filter(({ atMs }) => nowMs - atMs < ms).map(({ id }) => id));
  return {
    files: within(filesLifeMs),
    execution: within(executionLifeMs),
    all: within(Number.POSITIVE_INFINITY),
  };
}

const busyTimeoutMs = 5000;

/** Rewrites a sqlite file without deleted records, because sqlite itself only marks their space as free. */
function vacuum({ file, nowMs }: { file: string; nowMs: number }): void {
  if (!hasTables(file)) return;
  const database = new DatabaseSync(file, { timeout: busyTimeoutMs });
  try {
    // No listing has expired records, so nobody finds out whom they name.
    database.prepare("DELETE FROM tasks WHERE expires_at_ms <= ?").run(nowMs);
    database.exec("VACUUM");
    // The write-ahead log holds the old pages until it is emptied.
    const done = database.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get();
    if (done?.busy !== 0) throw new Error("busy");
  } catch (cause) {
    throw new Error(
      `All records are deleted, but their content may remain in free space of ${file}, because another process uses the file. Stop that process, and run the command again.`,
      { cause },
    );
  } finally {
    database.close();
  }
}
