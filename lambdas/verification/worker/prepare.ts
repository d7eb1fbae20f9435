/** The act that gathers what goes along with a message: the thread so far, and its files. */
import type { ExecuteTaskParams } from "../../../contracts/methods.ts";
import type { Files } from "../files/files.ts";
import type { SlackApi } from "../slack/slack.ts";
import { threadHistory } from "../slack/thread-history.ts";
import type { Context } from "../task/events.ts";
import { maxContextTries } from "../task/slack-failures.ts";
import { installationOf, placeOf, type Task } from "../task/task.ts";
import { isSlackError } from "./own-posts.ts";
import { pureStep } from "./pure-step.ts";

type Request = { slack: SlackApi; files: Files; task: Task; signal: AbortSignal };

/** Rejects with a SlackError where it may work another time, or with a FileRefused. */
export async function prepare(request: Request): Promise<Context> {
  const { files, task, signal } = request;
  const { threadTs, command, files: asked = [] } = task.message;
  const attachments = asked.length > 0 ? await files.bringIn({ task, signal }) : [];
  const history = threadTs !== undefined && !command ? await readHistory(request) : [];
  return { attachments, history };
}

/** A thread that may not be read is no reason not to do what was asked. */
async function readHistory({ slack, task, signal }: Request): Promise<NonNullable<ExecuteTaskParams["history"]>> {
  const { message, id: requestId } = task;
  const place = placeOf(task);
  const whole = { installation: installationOf(task), ...place, oldestTs: place.threadTs, appId: message.appId };
  try {
    const messages = await slack.replies({ ...whole, requestId, signal });
    return pureStep(() => threadHistory({ messages, message }));
  } catch (thrown) {
    const isLastTry = task.attempts + 1 >= maxContextTries;
    if (isLastTry || isSlackError(thrown, ["gone", "refused"])) return [];
    throw thrown;
  }
}
