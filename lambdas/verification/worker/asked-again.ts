/** The text of a message that an operator wants tried again: read anew from Slack, since it is kept nowhere. */
import { askedText } from "../ingress/asked-text.ts";
import type { SlackApi } from "../slack/slack.ts";
import type { Task } from "../task/task.ts";
import { messagesFromTask } from "./own-posts.ts";

/** Undefined where the message is gone. Rejects with a SlackError. */
export async function readAskedText(request: {
  slack: SlackApi;
  task: Task;
  signal: AbortSignal;
}): Promise<string | undefined> {
  const { ts, botUsers = [] } = request.task.message;
  const messages = await messagesFromTask(request);
  const message = messages.find((candidate) => candidate.ts === ts);
  // Its files are not known any more, and without them it would be another message.
  if (message === undefined || message.fileIds.length > 0) return undefined;
  return askedText({ text: message.text, botUsers });
}
