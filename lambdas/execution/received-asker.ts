/** The person behind a request, whose token the host has verified. */
import type { VerifiedAsker } from "./agents/agent.ts";

/** The received token. It goes to the agent of this process, and is stored nowhere. */
export type AskerToken = { token: string; expiresAtMs: number };

export type ReceivedAsker = { person: VerifiedAsker } & AskerToken;

/** The person that the params of a request name, in the ids of Slack. */
export type NamedPerson = { team?: string | undefined; user?: string | undefined };

/**
 * Verifies the token of one request, which counts as used then. Resolves to undefined if there is none and none is needed. Rejects with
 * `asker_unverified`, or with `unavailable` if it cannot be checked now.
 */
export type VerifyAsker = (namedPerson: NamedPerson) => Promise<ReceivedAsker | undefined>;

/** True if both are known and one person, as the same issuer names it. */
export function isSamePerson(
  one: VerifiedAsker | undefined,
  other: VerifiedAsker | undefined,
): boolean {
  if (one === undefined || other === undefined) return false;
  return one.issuer === other.issuer && one.subject === other.subject;
}

/** The token for a run of the task: only that of the person who asked for the task. */
export function selectAskerToken(
  { asker }: { asker?: VerifiedAsker | undefined },
  receivedAsker: ReceivedAsker | undefined,
): AskerToken | undefined {
  return isSamePerson(asker, receivedAsker?.person) ? receivedAsker : undefined;
}
