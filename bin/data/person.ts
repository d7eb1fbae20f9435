/** The person that a command is about: a workspace's id and a user's. */
import { personOf } from "../../lambdas/verification/usage-history/entry.ts";
import { UsageError } from "../commands/command.ts";

export type Person = { team: string; user: string };

export const personOptions = { team: { type: "string" }, user: { type: "string" } } as const;

export const personHelp = `
  --team T       the id of the workspace in which the app was asked, such as T012AB3CD: of a guest (Slack Connect) yours, not theirs;
                 of an organization that installed the app as a whole each workspace in which they asked
  --user U       the id of the person there, such as U012AB3CD
`.slice(1, -1);

export function personIn({ team, user }: { team?: string | undefined; user?: string | undefined }): Person {
  const isId = (text: string | undefined): text is string => text !== undefined && /^[A-Z0-9]{1,64}$/.test(text);
  if (isId(team) && isId(user)) return { team, user };
  throw new UsageError(
    "--team T and --user U are needed, both as ids of Slack, such as --team T012AB3CD --user U012AB3CD.",
  );
}

export function nameOf(person: Person): string {
  return personOf(person);
}
