/** Counts everything that is kept of one person. */
import { AwsFailure } from "../aws/aws-failure.ts";
import type { PersonRecords } from "./find-person.ts";
import type { Person, RecordPlace } from "./person.ts";
import { allIds, partsOf, recentIds } from "./person-data.ts";
import { placesInConfig, rulesNaming } from "./rules.ts";
import { type Counts, countsOf } from "./text.ts";

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
  const { files, letters, execution } = partsOf({ place, person, signal });
  const recent = recentIds({ found, nowMs });
  const rules = await rulesNaming({ store: place.store, person });
  return {
    ...countsOf(found),
    files: await files?.count({ ids: recent.files }),
    deadLetters: await letters?.count({ ids: allIds(found) }),
    execution: await execution.count({ ids: recent.execution }).catch((thrown: unknown) => {
      if (!(thrown instanceof AwsFailure) || signal.aborted) throw thrown;
      return `not read. ${thrown.message}`;
    }),
    rules: rules.map(({ number }) => number),
    configuration: placesInConfig({ config: place.config(), person }),
  };
}
