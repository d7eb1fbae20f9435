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
  const earlierTs = heal ? await findQuestion(request) : undefined;
  if (earlierTs !== undefined) return earlierTs;
  const posted = await slack.post({
    installation: installationOf(task),
    ...placeOf(task),
    content: text.question({ task, nowMs }),
    key: { requestId: task.id, part },
    signal,
  });
  return posted.ts;
}

/** Best effort: the answer is not to wait for it, and the delivery does it again. Whoever presses a button until then is told. */
export async function showQuestion(request: Request): Promise<void> {
  await updateQuestion(request).catch(() => {});
}

/** Where the question stands; undefined where it was never posted. Rejects with a SlackError. */
export async function questionTsOf(request: Pick<Request, "slack" | "task" | "signal">): Promise<string | undefined> {
  // A worker may have died between posting it and writing that down, and it was answered all the same.
  return request.task.question?.ts ?? (await findQuestion(request));
}

async function updateQuestion(request: Request): Promise<void> {
  const { slack, task, text, nowMs, signal } = request;
  const ts = await questionTsOf(request);
  if (ts === undefined) return;
  await slack.update({
    installation: installationOf(task),
    channel: placeOf(task).channel,
    ts,
    content: text.question({ task, nowMs }),
    key: { requestId: task.id, part: partOf(task) },
    signal,
  });
}

/** The earliest, should there be more. */
async function findQuestion(request: Pick<Request, "slack" | "task" | "signal">): Promise<string | undefined> {
  const posts = await ownPostsOrKnown(request);
  return posts.find(({ part }) => part === partOf(request.task))?.ts;
}

function partOf({ question }: Task): number {
  return questionPart + (question?.index ?? 0);
}
