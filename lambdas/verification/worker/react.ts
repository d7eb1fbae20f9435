/** The eyes on a message whose task is under way. */
import type { SlackApi } from "../slack/slack.ts";
import type { Task } from "../task/task.ts";

const receivedReaction = "eyes";

/** Decoration: whether it works changes nothing. */
export async function react({
  slack,
  task,
  present,
  signal,
}: {
  slack: SlackApi;
  task: Task;
  present: boolean;
  signal: AbortSignal;
}): Promise<void> {
  const { channel, ts } = task.message;
  await slack.react({ channel, ts, name: receivedReaction, present, requestId: task.id, signal }).catch(() => {});
}
