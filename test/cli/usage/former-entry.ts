/** An entry that version 1.0.0 has left behind. */
import {
  type FormerEntry,
  formerKeyOf,
  formerStateOf,
} from "@sekisho/sekisho/usage/former-history.ts";

export function sampleFormerEntry(
  changes: Pick<FormerEntry, "requestId" | "user" | "listedAtMs"> & Partial<FormerEntry>,
): FormerEntry {
  const { requestId, user, listedAtMs } = changes;
  return {
    id: `history:${requestId}`,
    revision: 1,
    state: formerStateOf(new Date(listedAtMs).toISOString().slice(0, 10)),
    principal: formerKeyOf({ team: "T1", user }),
    expiresAtMs: listedAtMs + 60 * 24 * 3600_000,
    askedAtMs: listedAtMs - 1500,
    team: "T1",
    channel: "C1",
    destination: "far",
    outcome: "answered",
    polls: 0,
    questions: 0,
    ...changes,
  };
}
