/** Erases everything of one person at a place, in an order in which a command that was cut off goes on where it was. */
import { AwsFailure } from "../aws/aws-failure.ts";
import { eraseRecords, type LeftTasks } from "./erase-records.ts";
import type { PersonRecords } from "./find-person.ts";
import type { Person } from "./person.ts";
import { allIds, executionFileOf, partsOf, recentIds } from "./person-data.ts";
import type { RecordPlace } from "./record-place.ts";
import { rewriteFile } from "./rewrite-file.ts";
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
  const { files, letters, execution } = partsOf({ place, person, signal });
  const recent = recentIds({ found, nowMs });
  await execution.erase({ ids: recent.execution }).catch(async (thrown: unknown) => {
    if (!(thrown instanceof AwsFailure) || signal.aborted) throw thrown;
    await leftOver(recent.execution, thrown);
  });
  await files?.erase({ ids: recent.files });
  await letters?.erase({ ids: allIds(found) });
  if (withRules) await removeRules({ store, person });
  const left = await eraseRecords({ store, person, found, nowMs, signal });
  if ("file" in place.at) rewriteFiles(place.at.file, nowMs);
  return left;
}

function rewriteFiles(file: string, nowMs: number): void {
  for (const each of [file, executionFileOf(file)]) rewriteFile({ file: each, nowMs });
}
