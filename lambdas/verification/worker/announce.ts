/** The act that tells the user that the task is under way: a placeholder in the thread, and a mark on the message. */
import { placeholderPart } from "../slack/post-parts.ts";
import type { SlackApi } from "../slack/slack.ts";
import type { TaskText } from "../slack/task-text.ts";
import { installationOf, placeOf, type Task } from "../task/task.ts";
import { ownPostsOrKnown } from "./own-posts.ts";
import { type Decor, markReceived } from "./react.ts";

/** Resolves to the placeholder's `ts`. With `heal`, a placeholder whose answer was lost is found instead of posted again. */
export async function announce(request: {
  slack: SlackApi;
  task: Task;
  heal: boolean;
  text: TaskText;
  decor: Decor;
  signal: AbortSignal;
}): Promise<string> {
  const { slack, task, heal, text, signal } = request;
  if (heal) {
    const [earlier] = (await ownPostsOrKnown(request)).filter(({ part }) => part === placeholderPart);
    if (earlier !== undefined) return earlier.ts;
  }
  const posted = await slack.post({
    installation: installationOf(task),
    ...placeOf(task),
    content: text.placeholder(task),
    key: { requestId: task.id, part: placeholderPart },
    signal,
  });
  await markReceived({ ...request, status: text.status(task) });
  return posted.ts;
}
