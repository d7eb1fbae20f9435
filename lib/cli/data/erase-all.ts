/** Erases everything of one person at a place, in an order in which a command that was cut off goes on where it was. */

import { existsSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { AwsFailure } from "../aws/aws-failure.ts";
import { eraseRecords, type LeftTasks } from "./erase-records.ts";
import type { PersonRecords } from "./find-person.ts";
import type { Person, RecordPlace } from "./person.ts";
import { createDataParts, executionFilePath, listAllIds, listRecentIds } from "./person-data.ts";
import { removeRules } from "./rules.ts";

/**
 * What the ids lead to goes before the records that have the ids. Where the Execution zone's store is out of reach,
 * `leftOver` gets its ids before anything that has them is erased.
 */
export async function eraseAll({
  place,
  person,
  found,
  withRules,
  leftOver,
  nowMs,
  signal,
}: {
  place: RecordPlace;
  person: Person;
  found: PersonRecords;
  withRules: boolean;
  leftOver: (ids: ReadonlySet<string>, why: AwsFailure) => Promise<void>;
  nowMs: number;
  signal: AbortSignal;
}): Promise<LeftTasks> {
  const { store } = place;
  const { files, letters, execution } = createDataParts({ place, person, signal });
  const recent = listRecentIds({ found, nowMs });
  await execution.erase({ ids: recent.execution }).catch(async (thrown: unknown) => {
    if (!(thrown instanceof AwsFailure) || signal.aborted) throw thrown;
    await leftOver(recent.execution, thrown);
  });
  await files?.erase({ ids: recent.files });
  await letters?.erase({ ids: listAllIds(found) });
  if (withRules) await removeRules({ store, person });
  const left = await eraseRecords({ store, person, found, nowMs, signal });
  if ("file" in place.at) rewriteFiles(place.at.file, nowMs);
  return left;
}

function rewriteFiles(file: string, nowMs: number): void {
  for (const each of [file, executionFilePath(file)]) rewriteFile({ file: each, nowMs });
}

// Rewrites a sqlite file without what was deleted or has expired: sqlite itself only marks the space of it as free.

const busyTimeoutMs = 5000;

/** Throws with what to do where another process does not leave the file alone for long enough. */
function rewriteFile({ file, nowMs }: { file: string; nowMs: number }): void {
  if (!existsSync(file)) return;
  const database = new DatabaseSync(file, { timeout: busyTimeoutMs });
  try {
    // What is past its time is listed nowhere, and so nobody finds in it whom it names.
    database.prepare("DELETE FROM tasks WHERE expires_at_ms <= ?").run(nowMs);
    database.exec("VACUUM");
    // The old pages are in the log of writes, too, until it is emptied.
    const done = database.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get();
    if (done?.busy !== 0) throw new Error("busy");
  } catch (cause) {
    throw new Error(
      `All of it is deleted, but traces of it are still in the free space of ${file}, which is in use. Stop what uses it, and run the command once more.`,
      { cause },
    );
  } finally {
    database.close();
  }
}
