/** Counts everything that is kept of one person. */
import { AwsFailure } from "../aws/aws-failure.ts";
import type { PersonRecords } from "./find-person.ts";
import type { Person, RecordPlace } from "./person.ts";
import { createDataParts, listAllIds, listRecentIds } from "./person-data.ts";
import { listConfigPaths, listRulesOfPerson } from "./rules.ts";
import { type Counts, countRecords } from "./text.ts";

export async function countAll({
  place,
  person,
  found,
  nowMs,
  signal,
}: {
  place: RecordPlace;
  person: Person;
  found: PersonRecords;
  nowMs: number;
  signal: AbortSignal;
}): Promise<Counts> {
  const { files, letters, execution } = createDataParts({ place, person, signal });
  const recent = listRecentIds({ found, nowMs });
  const rules = await listRulesOfPerson({ store: place.store, person });
  return {
    ...countRecords(found),
    files: await files?.count({ ids: recent.files }),
    deadLetters: await letters?.count({ ids: listAllIds(found) }),
    execution: await execution.count({ ids: recent.execution }).catch((thrown: unknown) => {
      if (!(thrown instanceof AwsFailure) || signal.aborted) throw thrown;
      return `not read. ${thrown.message}`;
    }),
    rules: rules.map(({ number }) => number),
    configuration: listConfigPaths({ config: place.config(), person }),
  };
}
