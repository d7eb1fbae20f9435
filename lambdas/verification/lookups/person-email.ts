/** Finds the e-mail address of a person, for destinations that get it with the asker's token. */
import { installationOf, type Task } from "../task/task.ts";
import { createSlackLookups, type LookupSlack } from "./slack-lookups.ts";

/**
 * Resolves to the confirmed address of a full member of the task's workspace or organization, and to undefined for anybody else. Never
 * rejects: if Slack does not say, there is no address, and the call is made without one.
 */
export type FindEmail = (request: {
  task: Task;
  user: string;
  signal: AbortSignal;
}) => Promise<string | undefined>;

export function createFindEmail(options: {
  slack: LookupSlack;
  now: () => number;
  maxWaitMs?: number;
}): FindEmail {
  const startLookups = createSlackLookups(options);
  return async ({ task, user, signal }) => {
    const { message } = task;
    const isWriter = user === message.user;
    if (isWriter && message.external === "people") return undefined;
    const installation = installationOf(task);
    const lookups = startLookups({ installation, requestId: task.id, signal });
    const userTeam = isWriter ? message.userTeam : undefined;
    try {
      return await lookups.personEmail({ user, userTeam });
    } catch {
      return undefined;
    } finally {
      lookups.end();
    }
  };
}
