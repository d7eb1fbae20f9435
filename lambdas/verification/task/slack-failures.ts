/** What follows when Slack did not take an announcement, a delivery or a sweep. */
import { maxAgeMs } from "../gate/age.ts";
import { retryDelayMs } from "./delays.ts";
import { pendingUpload, uploaded } from "./delivering.ts";
import { end } from "./ending.ts";
import type { TaskEvent } from "./events.ts";
import type { Policy } from "./policy.ts";
import { fileMissing, withParams } from "./received.ts";
import { advance, conclude, failed, forget, giveUpDelivery, leaving, type Step, wake } from "./step.ts";
import type { Task } from "./task.ts";

/** Tries to read what goes along with a message: about a quarter of a minute. */
export const maxContextTries = 4;
/** Tries to upload a file, before the answer comes without it. */
const maxUploadTries = 4;

type SlackFailed = Extract<TaskEvent, { type: "slack_failed" }>;

export function slackFailed({ task, event, policy }: { task: Task; event: SlackFailed; policy: Policy }): Step {
  const { nowMs, kind, retryAfterMs } = event;
  const again = { ...task, attempts: task.attempts + 1 };
  const terminal = kind === "gone" || kind === "refused" || kind === "no_such_message";
  const givenUp = terminal || nowMs - sinceMs(task) > maxAgeMs;
  if (task.state === "done" && givenUp) return { task: forget(task), effects: [] };
  if (task.state === "done") return { task: again, effects: [wake(retryDelayMs(again.attempts, retryAfterMs))] };
  if (isPreparing(task))
    return terminal || again.attempts >= maxContextTries ? withoutContext(task, policy) : waitFor(again, retryAfterMs);
  if (task.state === "delivering" && pendingUpload(task) !== undefined) {
    const tooOften = terminal || again.attempts >= maxUploadTries;
    return tooOften ? uploaded(task, { fileId: undefined }) : waitFor(again, retryAfterMs);
  }
  // Blocks are the part of an answer that Slack is most particular about.
  if (kind === "refused" && task.outcome?.type === "answer" && task.plain === undefined) {
    return { task: { ...again, plain: true }, effects: [wake(0)] };
  }
  // An answer that Slack does not take is told in words of ours; those are refused by nothing but a Slack that is gone.
  if (kind === "refused" && task.outcome?.type === "answer") {
    const { task: concluded, effects } = conclude(task, {
      ...failed({ reason: "internal", lost: false }),
      insteadOfAnswer: true,
    });
    // Parts of the answer may be there.
    return { task: { ...concluded, attempts: 1 }, effects };
  }
  // Where one may not read, one may still be allowed to post.
  const isReading = task.state === "received" && task.retryOf !== undefined && task.message.text === "";
  if (terminal && isReading) return conclude(task, { type: "unreadable" });
  if (kind === "refused" && task.state === "asking" && task.plain === undefined) {
    return { task: { ...again, plain: true }, effects: [wake(0)] };
  }
  // Nobody can be asked where nobody can post; what waits for an answer is not to wait in vain.
  if (givenUp && task.state === "asking") return end(task, "unanswered");
  if (givenUp) return leaving(giveUpDelivery(task));
  return waitFor(again, retryAfterMs);
}

/** Since when this has been tried: a task may have waited long for its turn, or for a person. */
function sinceMs({ state, history, receivedAtMs, question }: Task): number {
  if (state === "asking" && question !== undefined) return question.askedAtMs;
  return history.findLast((entry) => entry.state === state)?.atMs ?? receivedAtMs;
}

/** The thread and the files are read before anything is sent. */
function isPreparing(task: Task): boolean {
  return task.state === "announced" && task.params === undefined;
}

/** A thread that cannot be read is no reason not to do what was asked; without its files the message is another one. */
function withoutContext(task: Task, policy: Policy): Step {
  const [file] = task.message.files ?? [];
  if (file !== undefined) return conclude(task, fileMissing(file));
  return { task: advance(withParams(task, { context: {}, policy }), {}), effects: [wake(0)] };
}

function waitFor(task: Task, retryAfterMs: number | undefined): Step {
  return { task, effects: [wake(retryDelayMs(task.attempts, retryAfterMs))] };
}
