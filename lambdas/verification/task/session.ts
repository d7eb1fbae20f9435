/** A task that a session refused because the session may end before the task does: it gets a session of its own, once. */

import { createHmac } from "node:crypto";
import type { CallAct, CallFailure } from "./events.ts";
import type { Policy } from "./policy.ts";
import { failed, type Step, setOutcome, wake } from "./step.ts";
import { placeOf, type Task } from "./task.ts";

/** Whether the session refused to begin. An act that begins nothing is repeated where it was. */
export function isSessionEnding({ act, error }: { act: CallAct; error: CallFailure }): boolean {
  return error.reason === "session_ending" && error.retryable && (act === "send" || act === "answer");
}

/**
 * The same call is made again in the new session, which stands in the record before that: later polls, answers and cancels go
 * there too. The thread's next task begins in the thread's own session again. A new session that refuses as well ends the
 * task, unless it may still go to another destination: no session lives long enough for it.
 */
export function toNewSession(
  task: Task,
  { act, error, policy }: { act: CallAct; error: CallFailure; policy: Policy },
): Step {
  if (!task.isSessionNew) {
    const moved = { ...task, ownSessions: (task.ownSessions ?? 0) + 1, isSessionNew: true as const };
    return { task: { ...moved, sessionId: sessionOf(moved, { isOwn: true, policy }) }, effects: [wake(0)] };
  }
  const isKnown = act === "answer" || task.mayHaveArrived;
  const { task: concluded, effects } = setOutcome(task, failed(task.mayHaveArrived ? inDoubt : error));
  // A task that is given up must not begin later.
  return { task: concluded, effects: isKnown ? [{ type: "cancel" }] : effects };
}

const inDoubt = { reason: "ambiguous", lost: false } as const;

/** The session was reached: from now on its age is unknown. */
export function inKnownSession({ isSessionNew: _isNew, ...task }: Task): Task {
  return task;
}

/** The session of the thread, or the task's own: where each task has one (`isOwn`), or where this one had to begin one. */
export function sessionOf(
  task: Pick<Task, "id" | "message" | "place" | "ownSessions">,
  { isOwn, policy: { zoneSecret } }: { isOwn: boolean; policy: Policy },
): string {
  const { id, message, place, ownSessions = 0 } = task;
  const own = ownSessions > 0 ? `${id}/${ownSessions}` : id;
  return sessionIdOf({ message, place, perTask: isOwn || ownSessions > 0 ? own : undefined, zoneSecret });
}

// The session id: what keeps a conversation on one warm runtime.

/**
 * Derived from app, channel and thread (in a direct message: the channel), 66 characters of `sessionIdSchema`. Keyed with the
 * zone's secret, so that nobody who knows the thread can compute it. With `perTask` the request id joins in, so that stopping
 * the session can hit nothing else.
 */
export function sessionIdOf({
  message,
  place,
  perTask,
  zoneSecret,
}: Pick<Task, "message" | "place"> & { perTask: string | undefined; zoneSecret: string | undefined }): string {
  // Fails rather than make an id that anybody can compute.
  if (!zoneSecret) throw new Error("A session id needs the zone's secret.");
  const { channel, threadTs } = placeOf({ message, place });
  const conversation = message.direct ? channel : [channel, threadTs];
  const name = JSON.stringify(["session", message.appId, conversation, perTask ?? null]);
  return `s-${createHmac("sha256", zoneSecret).update(name).digest("hex")}`;
}
