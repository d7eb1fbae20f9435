/** The act that gives a slash command a thread: a message that says who asked what, or a direct message to that person. */
import { openingPart } from "../slack/post-parts.ts";
import type { SlackApi } from "../slack/slack.ts";
import type { TaskText } from "../slack/task-text.ts";
import { installationOf, type Task } from "../task/task.ts";
import { isSlackError } from "./own-posts.ts";

type Request = { slack: SlackApi; task: Task; text: TaskText; signal: AbortSignal };

/** Slack's clock and ours may differ by so much. */
const skewSeconds = 300;

/** Where the bot may not post in the channel, the person gets it directly. Rejects with a SlackError. */
export async function openThread(
  request: Request & { privately: boolean; heal: boolean },
): Promise<{ channel: string; threadTs: string }> {
  const { task, privately, heal } = request;
  // Whatever it was to be: where it was opened it goes on.
  const [earlier] = heal ? await openings(request, task.message.channel) : [];
  if (earlier !== undefined) return { channel: task.message.channel, threadTs: earlier };
  if (!privately) {
    try {
      return await openIn(request, task.message.channel);
    } catch (thrown) {
      if (!isSlackError(thrown, ["gone", "refused"])) throw thrown;
    }
  }
  const { slack, signal } = request;
  const { user } = task.message;
  const direct = await slack.openDirect({ installation: installationOf(task), user, requestId: task.id, signal });
  return openIn(request, direct.channel);
}

/** An earlier try may have posted it: it is looked for first, since nothing of a command's own is in the channel. */
async function openIn(
  request: Request & { heal: boolean },
  channel: string,
): Promise<{ channel: string; threadTs: string }> {
  const { slack, task, text, heal, signal } = request;
  const [earlier] = heal ? await openings(request, channel) : [];
  if (earlier !== undefined) return { channel, threadTs: earlier };
  const { ts } = await slack.post({
    installation: installationOf(task),
    channel,
    threadTs: undefined,
    content: text.opening({ ...task, place: { channel, threadTs: "0.0" } }),
    key: { requestId: task.id, part: openingPart },
    signal,
  });
  return { channel, threadTs: ts };
}

/** The `ts` of the task's openings in the channel, the oldest first; none where the bot may not read there. */
export async function openings({ slack, task, signal }: Request, channel: string): Promise<string[]> {
  const { message, id: requestId } = task;
  const oldestTs = (Number(message.ts) - skewSeconds).toFixed(6);
  const place = { installation: installationOf(task), channel };
  try {
    const posts = await slack.posts({ ...place, oldestTs, appId: message.appId, requestId, signal });
    return posts
      .filter(({ key }) => key?.requestId === requestId && key.part === openingPart)
      .map(({ ts }) => ts)
      .sort((a, b) => Number(a) - Number(b));
  } catch (thrown) {
    if (isSlackError(thrown, ["gone", "refused"])) return [];
    throw thrown;
  }
}
