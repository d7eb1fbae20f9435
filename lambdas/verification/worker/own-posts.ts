/** The posts of one task in its thread: looked up by their metadata, or as far as the record knows them. */
import { type PostedMessage, type SlackApi, SlackError, type SlackErrorKind } from "../slack/slack.ts";
import { type Task, threadOf } from "../task/task.ts";

type Request = { slack: SlackApi; task: Task; signal: AbortSignal };

/** Oldest first. Rejects with a SlackError. */
export async function ownPosts(request: Request): Promise<PostedMessage[]> {
  const messages = await messagesFromTask(request);
  return messages.filter(({ key }) => key?.requestId === request.task.id);
}

/** Whoever wrote them: what the thread shows from the task's own message on, that among them. Rejects with a SlackError. */
export function messagesFromTask({ slack, task, signal }: Request): Promise<PostedMessage[]> {
  const { appId, channel, ts } = task.message;
  return slack.replies({
    channel,
    threadTs: threadOf(task.message),
    oldestTs: ts,
    appId,
    requestId: task.id,
    signal,
  });
}

/** Where Slack does not let us look (a missing scope), what the record knows must do: an answer is worth more than a doubled one. */
export async function ownPostsOrKnown(request: Request): Promise<PostedMessage[]> {
  try {
    return await ownPosts(request);
  } catch (thrown) {
    if (!isSlackError(thrown, ["refused", "gone"])) throw thrown;
    return knownPosts(request.task);
  }
}

export function knownPosts(task: Task): PostedMessage[] {
  if (task.placeholderTs === undefined) return [];
  return [{ ts: task.placeholderTs, text: "", key: { requestId: task.id, part: 0 } }];
}

export function isSlackError(thrown: unknown, kinds: readonly SlackErrorKind[]): boolean {
  return thrown instanceof SlackError && kinds.includes(thrown.kind);
}
