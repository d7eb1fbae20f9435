/** The person that a command about data is for, the records of a zone as they are, and the seam of what lies elsewhere. */

import * as z from "zod";
import { type CommandRun, UsageError } from "../../../bin/commands/command.ts";
import type { ErasableStore } from "../../../lambdas/shared/engine/ports.ts";
import { formatPersonKey } from "../../../lambdas/verification/usage/entry.ts";
import type { OpenZone } from "../zone/open-zone.ts";
import { atZone, type ZoneValues } from "../zone/zone.ts";

export type Person = { team: string; user: string };

export const personOptions = { team: { type: "string" }, user: { type: "string" } } as const;

export const personHelp = `
  --team T       the id of the workspace in which the app was asked, such as T012AB3CD: of a guest (Slack Connect) yours, not theirs;
                 of an organization that installed the app as a whole each workspace in which they asked
  --user U       the id of the person there, such as U012AB3CD
`.slice(1, -1);

export function readPerson({ team, user }: { team?: string | undefined; user?: string | undefined }): Person {
  const isId = (text: string | undefined): text is string => text !== undefined && /^[A-Z0-9]{1,64}$/.test(text);
  if (isId(team) && isId(user)) return { team, user };
  throw new UsageError(
    "--team T and --user U are needed, both as ids of Slack, such as --team T012AB3CD --user U012AB3CD.",
  );
}

export function formatPerson(person: Person): string {
  return formatPersonKey(person);
}

/** Data that lies elsewhere than in the Verification zone's store: files, dead letters, the Execution zone's records. */
export type DataPart = {
  /** As a line of the listing begins. */
  what: string;
  /** How many there are of these request ids. Rejects with what to do where that cannot be found out. */
  count(request: { ids: ReadonlySet<string> }): Promise<number>;
  /** Repeated it finds nothing more. Resolves to how many it erased. */
  erase(request: { ids: ReadonlySet<string> }): Promise<number>;
};

/** A record of the Verification zone's store as it is, whatever it is of: a task, its entry in the usage history, a quota. */
const recordSchema = z.looseObject({
  id: z.string(),
  revision: z.int(),
  state: z.string(),
  thread: z.string().optional(),
  principal: z.string().optional(),
  listedAtMs: z.int().optional(),
  expiresAtMs: z.int(),
});
export type StoredRecord = z.infer<typeof recordSchema>;

export function parseRecord(json: unknown): StoredRecord {
  return recordSchema.parse(json);
}

/** A zone with its records as they are. */
export type RecordPlace = Omit<OpenZone, "store"> & { store: ErasableStore<StoredRecord> };

/** Runs `work` on the records of the zone that the options name, and closes it. */
export async function withRecordPlace<T>(
  run: Pick<CommandRun, "directory" | "signal">,
  values: ZoneValues,
  work: (place: RecordPlace) => Promise<T>,
): Promise<T> {
  return atZone(run, values, (zone) => work({ ...zone, store: zone.store({ parse: parseRecord }) }));
}
