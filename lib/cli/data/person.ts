/** The person that a command is about: a workspace's id and a user's. */

import * as z from "zod";
import { UsageError } from "../../../bin/commands/command.ts";
import { personOf } from "../../../lambdas/verification/usage/entry.ts";

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
  return personOf(person);
}

// The seam of what lies elsewhere than in the Verification zone's store: files, dead letters, the Execution zone's records.

export type DataPart = {
  /** As a line of the listing begins. */
  what: string;
  /** How many there are of these request ids. Rejects with what to do where that cannot be found out. */
  count(request: { ids: ReadonlySet<string> }): Promise<number>;
  /** Repeated it finds nothing more. Resolves to how many it erased. */
  erase(request: { ids: ReadonlySet<string> }): Promise<number>;
};

// A record of the Verification zone's store as it is, whatever it is of: a task, its entry in the usage history, a quota.

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
