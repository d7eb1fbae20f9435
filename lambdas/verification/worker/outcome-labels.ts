/** The names under which outcomes are counted; pure. */
import type { Outcome, Task } from "../task/task.ts";

/** Where the user wanted it to end that is no failure. */
export function outcomeLabels(outcome: Outcome | undefined): { outcome: string; reason: string } {
  if (outcome === undefined) return { outcome: "none", reason: "none" };
  switch (outcome.type) {
    case "failed": {
      const { reason, lost } = outcome;
      return { outcome: reason === "canceled" ? "canceled" : "failed", reason: lost ? "lost" : reason };
    }
    case "limited":
      return { outcome: "limited", reason: outcome.by };
    case "file_refused":
      return { outcome: "file_refused", reason: outcome.why };
    default:
      return { outcome: outcome.type, reason: "none" };
  }
}

/** Why it was not done; undefined where it was, or where it was begun. */
export function refusalOf({ outcome, announcedAtMs }: Pick<Task, "outcome" | "announcedAtMs">): string | undefined {
  switch (outcome?.type) {
    case "refused":
      return "not_allowed";
    case "limited":
      return `limited_by_${outcome.by}`;
    case "file_refused":
      return `file_${outcome.why}`;
    case "too_old":
    case "not_yours":
    case "unreadable":
      return outcome.type;
    case "failed":
      return announcedAtMs === undefined ? refusedReasons[outcome.reason] : undefined;
    default:
      return undefined;
  }
}

/** What the machine says of a message before there is a placeholder. */
const refusedReasons: { readonly [reason: string]: string | undefined } = {
  invalid_params: "says_nothing",
  payload_too_large: "too_long",
  agent_not_found: "no_route",
  rate_limited: "thread_full",
};
