/** Opens the thread of a slash command, which leaves no message in the channel. */

import type { SlackApi } from "../slack/api/slack.ts";
import type { TaskText } from "../slack/messages/task-text.ts";
import { installationOf, type Task } from "../task/task.ts";
import { isSlackError } from "./own-posts.ts";

type ThreadRef = { channel: string; threadTs: string };
type Request = { slack: SlackApi; task: Task; signal: AbortSignal };

/** The assumed limit of the difference between Slack's clock and ours. */
const skewSeconds = 300;

/**
 * Opens a thread for a slash command, with a message that says who asked what. If the bot may not post in the channel, the thread is in
 * the person's direct messages. Rejects with a SlackError.
 */
export async function openThread(
  request: Request & { text: TaskText; privately: boolean; reconcile: boolean },
): Promise<ThreadRef> {
  const { slack, task, text, privately, reconcile, signal } = request;
  const { channel, user } = task.message;
  const installation = installationOf(task);
  const requestId = task.id;

  async function findOpening(channel: string): Promise<ThreadRef | undefined> {
    const [threadTs] = reconcile ? await findOpenings(request, channel) : [];
    return threadTs === undefined ? undefined : { channel, threadTs };
  }

  async function postOpening(channel: string): Promise<ThreadRef> {
    const content = text.opening({ ...task, threadRef: { channel, threadTs: "0.0" } });
    const key = { requestId, kind: "opening", index: 0 } as const;
    const target = { installation, channel, threadTs: undefined };
    const { ts } = await slack.post({ ...target, content, key, signal });
    return { channel, threadTs: ts };
  }

  // A thread that an earlier try opened in the channel is used, even if `privately` is now set.
  const opening = await findOpening(channel);
  if (opening !== undefined) return opening;
  if (!privately) {
    try {
      return await postOpening(channel);
    } catch (error) {
      if (!isSlackError(error, ["gone", "refused"])) throw error;
    }
  }
  const direct = await slack.openDirect({ installation, user, requestId, signal });
  return (await findOpening(direct.channel)) ?? postOpening(direct.channel);
}

/** Finds the `ts` of the task's openings in the channel, oldest first. Resolves to none if the bot may not read there. */
async function findOpenings({ slack, task, signal }: Request, channel: string): Promise<string[]> {
  const { message, id: requestId } = task;
  const oldestTs = (Number(message.ts) - skewSeconds).toFixed(6);
  const target = { installation: installationOf(task), channel };
  try {
    const posts = await slack.posts({
      ...target,
      oldestTs,
      appId: message.appId,
      requestId,
      signal,
    });
    return posts
      .filter(({ key }) => key?.requestId === requestId && key.kind === "opening")
      .map(({ ts }) => ts)
      .sort((a, b) => Number(a) - Number(b));
  } catch (error) {
    if (isSlackError(error, ["gone", "refused"])) return [];
    throw error;
  }
}

/** Finds all openings of a slash command's thread except the recorded one. A post that arrived late may have opened a second one. */
export async function findSurplusOpenings(
  request: Request,
): Promise<{ channel: string; ts: string }[]> {
  const { message, threadRef } = request.task;
  if (!message.command) return [];
  const surplus: { channel: string; ts: string }[] = [];
  for (const channel of new Set([message.channel, threadRef?.channel ?? message.channel])) {
    for (const ts of await findOpenings(request, channel)) {
      const isOwn = channel === threadRef?.channel && ts === threadRef.threadTs;
      if (!isOwn) surplus.push({ channel, ts });
    }
  }
  return surplus;
}
