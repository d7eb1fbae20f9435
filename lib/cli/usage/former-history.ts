/** The usage history of version 1.0.0: an entry of its own per finished task. Nothing writes such entries any more, and they expire. */

import { checkRecord } from "@sekisho/runtime/engine/record-version.ts";
import { voteSchema } from "@sekisho/verification/task/messages.ts";
import { personKeyOf } from "@sekisho/verification/task/task.ts";
import { tokensSchema } from "@sekisho/verification/task/token-usage.ts";
import { countVotes, type UsageEntry, usageOutcomes } from "@sekisho/verification/usage/entry.ts";
import * as z from "zod";

const formerEntrySchema = z.object({
  id: z.string(),
  revision: z.int(),
  /** Contains the UTC day on which the task ended. */
  state: z.string().startsWith("history/"),
  principal: z.string(),
  /** When the task ended. */
  listedAtMs: z.int(),
  expiresAtMs: z.int(),
  requestId: z.string(),
  askedAtMs: z.int(),
  team: z.string(),
  channel: z.string(),
  user: z.string(),
  destination: z.string().optional(),
  outcome: z.enum(usageOutcomes),
  reason: z.string().optional(),
  polls: z.int(),
  questions: z.int(),
  tokens: tokensSchema.optional(),
  votes: z.record(z.string(), voteSchema).optional(),
  texts: z.object({ question: z.string(), answer: z.string().optional() }).optional(),
});
export type FormerEntry = z.infer<typeof formerEntrySchema>;

export function parseFormerEntry(json: unknown): FormerEntry {
  return checkRecord({ schema: formerEntrySchema, json });
}

export function readFormerEntry(json: unknown): UsageEntry | undefined {
  const entry = formerEntrySchema.safeParse(json).data;
  if (entry === undefined) return undefined;
  const { listedAtMs: endedAtMs, votes } = entry;
  const voteList = votes && Object.values(votes).map((vote) => ({ voterId: "", vote, atMs: 0 }));
  return { ...entry, endedAtMs, votes: voteList && countVotes(voteList) };
}

/** The entries of a day have this state. `day` is an ISO date. */
export function formerStateOf(day: string): string {
  return `history/${day}`;
}

/** The key of a person's entries in the index `principal`. */
export function formerKeyOf(person: { team: string; user: string }): string {
  return `history/${personKeyOf(person)}`;
}
