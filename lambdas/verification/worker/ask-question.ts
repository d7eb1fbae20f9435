/** The acts that show a question: asked in a message with buttons, and later how it was answered. The record is what counts. */
import { questionPart } from "../slack/post-parts.ts";
import type { SlackApi } from "../slack/slack.ts";
import type { TaskText } from "../slack/task-text.ts";
import { installationOf, placeOf, type Task } from "../task/task.ts";
import { ownPostsOrKnown } from "./own-posts.ts";

type Request = { slack: SlackApi; task: Task; text: TaskText; nowMs: number; signal: AbortSignal };

/** Resolves to the message's `ts`. With `heal` one whose answer was lost is found. Rejects with a SlackError. */
export async function askQuestion(request: Request & { heal: boolean }): Promise<string> {
  const { slack, task, text, heal, nowMs, signal } = request;
  const part = partOf(task);
  if (heal) {
    const [earlier] = (await ownPostsOrKnown(request)).filter((post) => post.part === part);
    if (earlier !== undefined) return earlier.ts;
  }
  const posted = await slack.post({
    installation: installationOf(task),
    ...placeOf(task),
    content: text.question({ task, nowMs }),
    key: { requestId: task.id, part },
    signal,
  });
  return posted.ts;
}

/** Best effort: whoever presses a button that is still there is told. */
export async function showQuestion({ slack, task, text, nowMs, signal }: Request): Promise<void> {
  const ts = task.question?.ts;
  if (ts === undefined) return;
  const { channel } = placeOf(task);
  const shown = slack.update({
    installation: installationOf(task),
    channel,
    ts,
    content: text.question({ task, nowMs }),
    key: { requestId: task.id, part: partOf(task) },
    signal,
  });
  await shown.catch(() => {});
}

function partOf({ question }: Task): number {
  return questionPart + (question?.index ?? 0);
}
