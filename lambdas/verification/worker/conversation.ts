/** Reads the earlier messages of the task's conversation: of its thread, or of a direct message that is one conversation. */
import type { PostedMessage, SlackApi } from "../slack/api/slack.ts";
import type { Act } from "../task/events.ts";
import { installationOf, type Task, threadRefOf } from "../task/task.ts";
import { maxContextTries } from "../task/unsent.ts";
import { isSlackError } from "./own-posts.ts";

type ConversationRequest = {
  act: Extract<Act, { type: "prepare" }>;
  slack: Pick<SlackApi, "posts" | "replies">;
  task: Task;
  signal: AbortSignal;
};

/** Resolves to no messages if the bot may not read the conversation. Rejects with a SlackError if a later try may succeed. */
export async function readConversation(request: ConversationRequest): Promise<PostedMessage[]> {
  const { act, task } = request;
  try {
    return await (act.history === undefined ? readThread(request) : readDirectHistory(request));
  } catch (error) {
    const isLastTry = task.attempts + 1 >= maxContextTries;
    if (isLastTry || isSlackError(error, ["gone", "refused"])) return [];
    throw error;
  }
}

function readThread({ slack, task, signal }: ConversationRequest): Promise<PostedMessage[]> {
  const { message, id: requestId } = task;
  const { appId, botUsers } = message;
  const threadRef = threadRefOf(task);
  const thread = { installation: installationOf(task), ...threadRef, oldestTs: threadRef.threadTs };
  return slack.replies({ ...thread, appId, botUsers, requestId, signal });
}

/** After a longer pause a message begins anew. */
const maxPauseSeconds = 30 * 60;
/** Slack is asked once for each of them. */
const maxMessages = 5;
/** Earlier messages are not looked for. */
const maxAgeSeconds = 8 * 3600;

/** Returns the person's messages since the last pause, also through another app, and what is in their threads, because the answers are there. */
async function readDirectHistory({
  slack,
  task,
  signal,
}: ConversationRequest): Promise<PostedMessage[]> {
  const { appId, botUsers, channel, ts } = task.message;
  const call = {
    installation: installationOf(task),
    channel,
    appId,
    botUsers,
    requestId: task.id,
    signal,
  };
  const posts = await slack.posts({ ...call, oldestTs: (Number(ts) - maxAgeSeconds).toFixed(6) });
  const earlier = posts
    .filter((post) => post.from !== "self" && Number(post.ts) < Number(ts))
    .sort((a, b) => Number(b.ts) - Number(a.ts))
    .slice(0, maxMessages);
  const messages: PostedMessage[] = [];
  let nextTs = Number(ts);
  for (const post of earlier) {
    const thread = await slack.replies({ ...call, threadTs: post.ts, oldestTs: post.ts });
    const lastTs = Math.max(Number(post.ts), ...thread.map((each) => Number(each.ts)));
    if (nextTs - lastTs > maxPauseSeconds) break;
    messages.push(...thread);
    nextTs = Number(post.ts);
  }
  return messages;
}
