/** The person that a command about data is for, and the records of a zone as they are stored. */

import * as z from "zod";
import type { ErasableStore } from "../../../lambdas/shared/engine/ports.ts";
import { openRules, type RuleStore } from "../allow/rule-zone.ts";
import { option, UsageError } from "../command.ts";
import { itemSchema } from "../tasks/stored-task.ts";
import type { OpenZone } from "../zone/open-zone.ts";
import { atZone, type ZoneRun, type ZoneValues } from "../zone/zone.ts";

export type Person = { team: string; user: string };

export const personOptions = {
  team: option(
    "T",
    "the id of the workspace in which the app was asked, such as T012AB3CD; required. For a guest (Slack Connect) it is yours, not theirs; in an organization that installed the app as a whole it is each workspace in which they asked",
  ),
  user: option("U", "the id of the person there, such as U012AB3CD; required"),
};

export function readPerson({
  team,
  user,
}: {
  team?: string | undefined;
  user?: string | undefined;
}): Person {
  const isId = (text: string | undefined): text is string =>
    text !== undefined && /^[A-Z0-9]{1,64}$/.test(text);
  if (isId(team) && isId(user)) return { team, user };
  throw new UsageError(
    "--team T and --user U are needed, both as ids of Slack, such as --team T012AB3CD --user U012AB3CD.",
  );
}

/**
 * Counts or erases the data of these request ids outside the Verification zone's store: files, dead letters, the Execution
 * zone's records. Resolves to how much there was.
 */
export type DataPart = (request: { ids: ReadonlySet<string>; erase?: boolean }) => Promise<number>;

/** A record of any kind: a task, an entry of the usage history, a quota. */
const recordSchema = z.looseObject({ ...itemSchema.shape, listedAtMs: z.int().optional() });
export type StoredRecord = z.infer<typeof recordSchema>;

export function parseRecord(json: unknown): StoredRecord {
  return recordSchema.parse(json);
}

export type RecordZone = Omit<OpenZone, "store"> & {
  store: ErasableStore<StoredRecord>;
  rules: RuleStore;
};

/** Runs `work` on the records of the zone that the options name, and closes it. */
export async function withRecordZone<T>(
  run: ZoneRun,
  values: ZoneValues,
  work: (zone: RecordZone) => Promise<T>,
) {
  return atZone(run, values, (zone) =>
    work({ ...zone, store: zone.store({ parse: parseRecord }), rules: openRules(zone) }),
  );
}
