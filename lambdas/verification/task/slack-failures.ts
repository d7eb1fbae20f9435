/** What follows when Slack did not take an announcement, a question, a delivery or a cleanup. */
import { retryDelayMs } from "./delays.ts";
import { pendingUpload, uploaded } from "./delivering.ts";
import { end } from "./ending.ts";
import type { TaskEvent } from "./events.ts";
import type { Policy } from "./policy.ts";
import { fileMissing, withParams } from "./received.ts";
import { advance, conclude, failed, forget, giveUpDelivery, type Step, wake } from "./step.ts";
import type { Task } from "./task.ts";

/** Tries to read what goes along with a message: about a quarter of a minute. */
export const maxContextTries = 4;
/** Tries to upload a file, before the answer comes without it. */
const maxUploadTries = 4;
/**
 * Tries of everything else. Retries are a minute apart at most, so this is a day of trying; where Slack asks for longer waits
 * (a quarter of an hour is the longest that is obeyed), two weeks. The tries count, not the clock: time in which nothing ran is
 * no time in which Slack refused.
 */
export const maxSlackTries = 1440;

type SlackFailed = Extract<TaskEvent, { type: "slack_failed" }>;
type Failure = { task: Task; again: Task; event: SlackFailed; isGivenUp: boolean };

export function slackFailed({ task, event, policy }: { task: Task; event: SlackFailed; policy: Policy }): Step {
  const { kind, retryAfterMs } = event;
  const again = { ...task, attempts: task.attempts + 1 };
  const isTerminal = kind === "gone" || kind === "refused" || kind === "no_such_message";
  const isGivenUp = isTerminal || again.attempts >= maxSlackTries;
  if (isPreparing(task)) {
    const isOver = isTerminal || again.attempts >= maxContextTries;
    return isOver ? withoutContext(task, policy) : waitFor(again, retryAfterMs);
  }
  switch (task.state) {
    case "done":
      return isGivenUp ? { task: forget(task), effects: [] } : waitFor(again, retryAfterMs);
    case "delivering":
      return deliveryFailed({ task, again, event, isGivenUp });
    case "asking":
      if (kind === "refused" && task.plain === undefined) return inPlainText(again);
      // Nobody can be asked where nobody can post; what waits for an answer is not to wait in vain.
      return isGivenUp ? end(task, "unanswered") : waitFor(again, retryAfterMs);
    default:
      return announcementFailed({ task, again, event, isGivenUp });
  }
}

function deliveryFailed({ task, again, event: { kind, retryAfterMs }, isGivenUp }: Failure): Step {
  if (task.undelivered !== undefined) return giveUpDelivery(task);
  if (pendingUpload(task) !== undefined) {
    const isOver = isGivenUp || again.attempts >= maxUploadTries;
    return isOver ? uploaded(task, { fileId: undefined }) : waitFor(again, retryAfterMs);
  }
  if (kind === "refused" && task.plain === undefined) return inPlainText(again);
  // An answer that Slack does not take is told in words of ours.
  if (kind === "refused" && task.outcome?.type === "answer") {
    const { task: concluded, effects } = conclude(task, {
      ...failed({ reason: "internal", lost: false }),
      insteadOfAnswer: true,
    });
    // Parts of the answer may be there.
    return { task: { ...concluded, attempts: 1 }, effects };
  }
  if (kind === "gone") return giveUpDelivery(task);
  return isGivenUp ? lastWords(task) : waitFor(again, retryAfterMs);
}

/** Nothing was sent anywhere yet. */
function announcementFailed({ task, again, event: { kind, retryAfterMs }, isGivenUp }: Failure): Step {
  if (!isGivenUp) return waitFor(again, retryAfterMs);
  // Blocks are what Slack is most particular about; a placeholder has some.
  if (kind === "refused" && task.plain === undefined) return inPlainText(again);
  const isReading = task.retryOf !== undefined && task.message.text === "";
  if (isReading) return conclude(task, { type: "unreadable" });
  // Whether a message that does not mention the bot is for it is known once it has its place in the thread.
  const isNobodys = task.message.unaddressed === true && task.ahead === undefined;
  if (kind === "gone" || isNobodys) return giveUpDelivery(task);
  const { task: concluded, effects } = conclude(task, failed({ reason: "internal", lost: false }));
  return { task: { ...concluded, attempts: 1 }, effects };
}

/** The thread is not looked at for it, and nothing is edited: whatever made the delivery fail is left out. */
function lastWords(task: Task): Step {
  return { task: { ...task, attempts: 0, undelivered: "last_words" }, effects: [wake(0)] };
}

function inPlainText(task: Task): Step {
  return { task: { ...task, plain: true }, effects: [wake(0)] };
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
