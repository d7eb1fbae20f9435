/** What follows when Slack did not take an announcement, a delivery or a sweep. */
import { maxAgeMs } from "../gate/age.ts";
import { retryDelayMs } from "./delays.ts";
import type { TaskEvent } from "./events.ts";
import type { Policy } from "./policy.ts";
import { conclude, failed, forget, giveUpDelivery, leaving, type Step, wake } from "./step.ts";
import type { Task } from "./task.ts";

type SlackFailed = Extract<TaskEvent, { type: "slack_failed" }>;

export function slackFailed({ task, event, policy }: { task: Task; event: SlackFailed; policy: Policy }): Step {
  const { nowMs, kind, retryAfterMs } = event;
  const again = { ...task, attempts: task.attempts + 1 };
  const terminal = kind === "gone" || kind === "refused" || kind === "no_such_message";
  const givenUp = terminal || nowMs - task.receivedAtMs > maxAgeMs;
  if (task.state === "done" && givenUp) return { task: forget(task), effects: [] };
  if (task.state === "done") return { task: again, effects: [wake(retryDelayMs(again.attempts, retryAfterMs))] };
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
  if (givenUp) return leaving(giveUpDelivery(task), policy);
  return { task: again, effects: [wake(retryDelayMs(again.attempts, retryAfterMs))] };
}
