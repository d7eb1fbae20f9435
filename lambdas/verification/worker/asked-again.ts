/** The text of a message that an operator wants tried again: read anew from Slack, since it is kept nowhere. */
import { askedText } from "../ingress/asked-text.ts";
import type { SlackApi } from "../slack/slack.ts";
import { type Task, threadOf } from "../task/task.ts";

/** Undefined where the message is gone. Rejects with a SlackError. */
export async function readAskedText({
  slack,
  task,
  signal,
}: {
  slack: SlackApi;
  task: Task;
  signal: AbortSignal;
}): Promise<string | undefined> {
  const { appId, channel, ts, botUsers = [] } = task.message;
  const messages = await slack.replies({
    channel,
    threadTs: threadOf(task.message),
    oldestTs: ts,
    appId,
    requestId: task.id,
    signal,
  });
  const message = messages.find((candidate) => candidate.ts === ts);
  return message && askedText({ text: message.text, botUsers });
}
