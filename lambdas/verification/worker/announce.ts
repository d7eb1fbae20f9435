/** The act that tells the user that the task is under way: a placeholder in the thread, and eyes on the message. */
import type { SlackApi } from "../slack/slack.ts";
import { type Task, threadOf } from "../task/task.ts";
import type { AnswerText } from "./deliver.ts";
import { ownPostsOrKnown } from "./own-posts.ts";
import { react } from "./react.ts";

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
  const { channel } = task.message;
  const threadTs = threadOf(task.message);
  if (heal) {
    const [earlier] = await ownPostsOrKnown({ slack, task, signal });
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
