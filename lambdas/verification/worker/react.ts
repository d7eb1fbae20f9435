/** The marks beside the words: reactions on the message, the assistant's status. Decoration: whether they work changes nothing. */
import type { SlackApi } from "../slack/slack.ts";
import { installationOf, placeOf, type Task } from "../task/task.ts";

/** `reactions`: names of emoji, or none at all. `assistant`: conversations with the app show a status. */
export type Decor = {
  reactions: { received: string; done: string; failed: string } | undefined;
  assistant: boolean;
};

type Request = { slack: SlackApi; task: Task; decor: Decor; signal: AbortSignal };

export async function markReceived(request: Request & { status: string }): Promise<void> {
  const { decor, status } = request;
  if (decor.reactions !== undefined) await react(request, decor.reactions.received, true);
  await setStatus(request, status);
}

export async function markOver(request: Request): Promise<void> {
  const { decor, task } = request;
  await setStatus(request, "");
  if (decor.reactions === undefined) return;
  const { received, done, failed } = decor.reactions;
  await react(request, received, false);
  const { outcome } = task;
  if (outcome?.type === "answer") await react(request, done, true);
  else if (outcome?.type !== "canceling") await react(request, failed, true);
}

/** The message was an answer, and has been taken as one. */
export async function markTaken(request: Request): Promise<void> {
  if (request.decor.reactions !== undefined) await react(request, request.decor.reactions.done, true);
}

async function react({ slack, task, signal }: Request, name: string, present: boolean): Promise<void> {
  const { channel, ts, command } = task.message;
  // A slash command leaves no message that could be marked.
  if (command) return;
  const installation = installationOf(task);
  await slack.react({ installation, channel, ts, name, present, requestId: task.id, signal }).catch(() => {});
}

async function setStatus({ slack, task, decor, signal }: Request, status: string): Promise<void> {
  const { direct, threadTs } = task.message;
  if (!decor.assistant || !direct || threadTs === undefined) return;
  const installation = installationOf(task);
  await slack.setStatus({ installation, ...placeOf(task), status, requestId: task.id, signal }).catch(() => {});
}
