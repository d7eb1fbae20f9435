/** Reads the earlier messages of a direct message that is one conversation, because its answers are in the threads of its messages. */
import type { PostedMessage, SlackApi } from "../slack/api/slack.ts";
import { installationOf, type Task } from "../task/task.ts";

/** After a longer pause a message begins anew. */
const maxPauseSeconds = 30 * 60;
/** Slack is asked once for each of them. */
const maxMessages = 5;
/** Earlier messages are not looked for. */
const maxAgeSeconds = 8 * 3600;

/** Returns the person's messages since the last pause, and what is in their threads. Rejects with a SlackError. */
export async function readDirectHistory(request: {
  slack: Pick<SlackApi, "posts" | "replies">;
  task: Task;
  signal: AbortSignal;
}): Promise<PostedMessage[]> {
  const { slack, task, signal } = request;
  const { appId, botUsers, channel, ts } = task.message;
  const call = { installation: installationOf(task), channel, appId, botUsers, requestId: task.id, signal };
  const posts = await slack.posts({ ...call, oldestTs: (Number(ts) - maxAgeSeconds).toFixed(6) });
  const earlier = posts
    .filter((post) => post.from === "person" && Number(post.ts) < Number(ts))
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
