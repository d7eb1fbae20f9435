/** The person behind a request, whose token the host has verified. */
import type { ExecutionTask, StoredAsker } from "./execution-task.ts";

/** The received token. It goes to the agent of this process, and is stored nowhere. */
export type AskerToken = { token: string; expiresAtMs: number };

export type ReceivedAsker = { person: StoredAsker } & AskerToken;

/** True if both are known and one person, as the same issuer names it. */
export function isSamePerson(
  one: StoredAsker | undefined,
  other: StoredAsker | undefined,
): boolean {
  if (one === undefined || other === undefined) return false;
  return one.issuer === other.issuer && one.subject === other.subject;
}

/** The token for the task's run: only that of the person who asked for the task. */
export function selectAskerToken(
  { asker }: Pick<ExecutionTask, "asker">,
  receivedAsker: ReceivedAsker | undefined,
): AskerToken | undefined {
  return isSamePerson(asker, receivedAsker?.person) ? receivedAsker : undefined;
}
