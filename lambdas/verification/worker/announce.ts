/** The act that tells the user that the task is under way: a placeholder in the thread, and eyes on the message. */
import type { SlackApi } from "../slack/slack.ts";
import { type Task, threadOf } from "../task/task.ts";
import type { AnswerText } from "./deliver.ts";

const receivedReaction = "eyes";

/** Resolves to the placeholder's `ts`. With `heal`, a placeholder whose answer was lost is found instead of posted again. */
export async function announce({
  slack,
  task,
  heal,
  answerText,
  signal,
}: {
  slack: SlackApi;
  task: Task;
  heal: boolean;
  answerText: AnswerText;
  signal: AbortSignal;
}): Promise<string> {
  const { channel, ts } = task.message;
  const threadTs = threadOf(task.message);
  if (heal) {
    const messages = await slack.replies({ channel, threadTs, oldestTs: ts, signal });
    const earlier = messages.find(({ key }) => key?.requestId === task.id);
    if (earlier !== undefined) return earlier.ts;
  }
  const posted = await slack.post({
    channel,
    threadTs,
    text: answerText.placeholder(task),
    key: { requestId: task.id, part: 0 },
    signal,
  });
  await react({ slack, task, present: true, signal });
  return posted.ts;
}

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
  await slack.react({ channel, ts, name: receivedReaction, present, signal }).catch(() => {});
}
