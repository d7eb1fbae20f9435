/** The notification itself: a task as the version of its push configuration has it (A2A 1.0, section 4.3.3; 0.3, section 9.5). */
import type { A2aTask } from "../../../contracts/a2a/task.ts";
import { eventToV03 } from "../../../contracts/a2a/v03/task.ts";
import { backoffMs, parseRetryAfter } from "../../shared/async/waiting.ts";
import type { StoredPushConfig } from "../tasks/execution-task.ts";

type PushRequest = { url: string; headers: Record<string, string>; body: string };

export function pushRequest({
  config: { url, token, authentication, version },
  task,
}: {
  config: StoredPushConfig;
  task: A2aTask;
}): PushRequest {
  // A scheme alone proves nothing.
  const credentials = authentication?.credentials;
  const contentType = version === "0.3" ? "application/json" : "application/a2a+json";
  return {
    url,
    headers: {
      "content-type": contentType,
      "a2a-version": version,
      ...(credentials !== undefined && { authorization: `${authentication?.scheme} ${credentials}` }),
      ...(token !== undefined && { "x-a2a-notification-token": token }),
    },
    body: JSON.stringify(version === "0.3" ? eventToV03({ task }) : { task }),
  };
}

/** Eight tries within some ten minutes at most. */
const maxAttempts = 8;
const baseMs = 5000;
const capMs = 300_000;

/** A receiver's answer, or what went wrong before there was one. */
export type PushOutcome = { status: number; retryAfter?: string | undefined } | { reason: string };

/**
 * `done`: taken. `again`: the receiver or the way to it may do better later. `over`: they will not, or there were enough tries;
 * a redirect is not followed. `attempt` counts from 0.
 */
export function planNextPush({
  outcome,
  attempt,
  nowMs,
  random,
}: {
  outcome: PushOutcome;
  attempt: number;
  nowMs: number;
  random: () => number;
}): { next: "done" } | { next: "again"; delayMs: number } | { next: "over" } {
  if ("status" in outcome && outcome.status >= 200 && outcome.status < 300) return { next: "done" };
  if (!canRepeat(outcome) || attempt + 1 >= maxAttempts) return { next: "over" };
  const wishedMs = "retryAfter" in outcome ? (parseRetryAfter({ header: outcome.retryAfter, nowMs }) ?? 0) : 0;
  const delayMs = backoffMs({ attempt, baseMs, capMs, random });
  return { next: "again", delayMs: Math.max(delayMs, Math.min(wishedMs, capMs)) };
}

const shortestWaitMs = 500;
const longestWaitMs = 60_000;

/** About as long as there has been something to tell: the more wait, the seldomer each of them asks. */
export function waitMs({ ageMs, random }: { ageMs: number; random: () => number }): number {
  return Math.min(longestWaitMs, Math.max(shortestWaitMs, ageMs)) * (0.5 + random() / 2);
}

function canRepeat(outcome: PushOutcome): boolean {
  // `invalid_response` is what is no HTTP, as a gateway that just starts may be.
  if ("reason" in outcome) return outcome.reason === "unavailable" || outcome.reason === "invalid_response";
  const { status } = outcome;
  return status === 408 || status === 429 || status >= 500;
}
