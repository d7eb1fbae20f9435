/** The acts that show a task's outcome in its thread, and later clean the thread up: read the thread, plan the changes, apply them. */

import type { PostId } from "../slack/api/post-keys.ts";
import { type MessageContent, type SlackApi, SlackError } from "../slack/api/slack.ts";
import { createOutgoingFiles } from "../slack/messages/answer.ts";
import type { TaskText } from "../slack/messages/task-text.ts";
import { installationOf, type Task, threadRefOf } from "../task/task.ts";
import { type Indicators, markOver } from "./indicators.ts";
import { findSurplusOpenings } from "./open-thread.ts";
import {
  isSlackError,
  outcomeKey,
  readOwnPosts,
  readOwnPostsOrRecorded,
  recordedPosts,
} from "./own-posts.ts";
import {
  type MessageRef,
  planCleanup,
  planDelivery,
  planFailureNotice,
  type ThreadAction,
} from "./plan-delivery.ts";

type Request = {
  slack: SlackApi;
  task: Task;
  text: TaskText;
  indicators: Indicators;
  nowMs: number;
  signal: AbortSignal;
};

/** Posts the outcome. Reads the thread first if it may have posts that the record does not have, such as those of an earlier try. */
export async function deliver(
  request: Request & { reconcile: boolean },
): Promise<"delivered" | "share_refused"> {
  const { task } = request;
  if (task.delivery?.status === "failure_notice") return deliverFailureNotice(request);
  const posts = hasUnknownPosts(request)
    ? await readOwnPostsOrRecorded(request)
    : recordedPosts(task);
  const { posting, isShareDue, tidying } = planDelivery({ ...request, posts });
  for (const action of posting) await apply(request, action);
  if (isShareDue && !(await share(request))) return "share_refused";
  for (const action of tidying) await ignoreIfUnreadable(request, apply(request, action));
  if (task.placeholder !== undefined) await markOver(request);
  return "delivered";
}

/** True if the thread may have posts of the task that are not in its record. */
function hasUnknownPosts({ task, reconcile }: { task: Task; reconcile: boolean }): boolean {
  const { stream, question } = task;
  // A worker may have died after it posted the question and before it saved the `ts`.
  const isQuestionUnknown = question !== undefined && question.ts === undefined;
  return reconcile || stream?.inDoubt === true || isQuestionUnknown;
}

/** If the thread cannot be read, the notice is posted anyway, unless an earlier try may have posted it. */
async function deliverFailureNotice(
  request: Request & { reconcile: boolean },
): Promise<"delivered"> {
  const posts = await readOwnPosts(request).catch((thrown: unknown) => {
    if (request.reconcile || !(thrown instanceof SlackError)) throw thrown;
    return [];
  });
  for (const action of planFailureNotice({ ...request, posts })) await apply(request, action);
  return "delivered";
}

/** True if `cleanUpThread` has something to do. Changes nothing in Slack. */
export async function hasLeftovers(request: Request): Promise<boolean> {
  return (await readCleanup(request)).length > 0;
}

export async function cleanUpThread(request: Request): Promise<void> {
  for (const action of await readCleanup(request)) await apply(request, action);
}

async function readCleanup(request: Request): Promise<ThreadAction[]> {
  const posts = await readOwnPosts(request);
  const surplusOpenings = await findSurplusOpenings(request);
  return planCleanup({ ...request, posts, surplusOpenings });
}

async function apply(request: Request, action: ThreadAction): Promise<void> {
  const { slack, task, signal } = request;
  const installation = installationOf(task);
  const { channel, threadTs } = threadRefOf(task);
  switch (action.type) {
    case "stop_stream": {
      // A failure is ignored: Slack then refuses the edit, and the answer is a new post.
      const call = { installation, channel, ts: action.ts, requestId: task.id, signal };
      return ignoreMissing(slack.stopStream(call));
    }
    case "remove":
      return removeMessage(request, action);
    case "remove_buttons":
      return removeButtons(request, action);
  }
  const { content } = action;
  const post = { installation, channel, content, key: outcomeKey(task, action), signal };
  if (action.type === "update") {
    const { ts } = action;
    try {
      return await slack.update({ ...post, ts });
    } catch (thrown) {
      if (!isSlackError(thrown, ["no_such_message", "refused"])) throw thrown;
      // The edit is impossible, so the content is posted as a new message and the old one is deleted.
      await slack.post({ ...post, threadTs });
      return removeMessage(request, { channel, ts });
    }
  }
  await slack.post({ ...post, threadTs });
}

/** Shares the uploaded files. Resolves to false if Slack refuses for good. */
async function share({ slack, task, signal }: Request): Promise<boolean> {
  const target = { installation: installationOf(task), ...threadRefOf(task), requestId: task.id };
  try {
    await slack.shareUploads({ ...target, files: listUploads(task), signal });
    return true;
  } catch (thrown) {
    if (isSlackError(thrown, ["refused", "gone", "no_such_message"])) return false;
    throw thrown;
  }
}

function listUploads(task: Task): { fileId: string; title: string }[] {
  if (task.outcome?.type !== "answer") return [];
  const names = createOutgoingFiles(task).map(({ name }) => name);
  return (task.outcome.uploads ?? []).flatMap((upload, index) =>
    "fileId" in upload ? [{ fileId: upload.fileId, title: names[index] ?? "" }] : [],
  );
}

/** If Slack accepts none of the contents, or no edit at all, the message is deleted, so that no buttons stay. */
async function removeButtons(
  request: Request,
  { ts, kind, index, contents }: PostId & { ts: string; contents: readonly MessageContent[] },
): Promise<void> {
  const { slack, task, signal } = request;
  const { channel } = threadRefOf(task);
  const target = { installation: installationOf(task), channel, ts, signal };
  for (const content of contents) {
    try {
      return await slack.update({ ...target, content, key: { requestId: task.id, kind, index } });
    } catch (thrown) {
      if (!isSlackError(thrown, ["no_such_message", "refused", "gone"])) throw thrown;
    }
  }
  // Deleting may be allowed where posting is not.
  await removeMessage(request, { channel, ts }).catch((thrown: unknown) => {
    if (!isSlackError(thrown, ["gone"])) throw thrown;
  });
}

/** Deletes a message. If the workspace forbids that, an edit removes its buttons and says that it is not the answer. */
async function removeMessage(request: Request, { channel, ts }: MessageRef): Promise<void> {
  const { slack, task, text, signal } = request;
  const target = { installation: installationOf(task), channel, ts, signal };
  try {
    await slack.remove({ ...target, requestId: task.id });
  } catch (thrown) {
    if (!isSlackError(thrown, ["no_such_message", "refused"])) throw thrown;
    if (thrown instanceof SlackError && thrown.slackError === "message_not_found") return;
    const key = { requestId: task.id, kind: "replaced", index: 0 } as const;
    await ignoreMissing(slack.update({ ...target, content: text.replaced(task), key }));
  }
}

/**
 * Awaits a change after the outcome was posted. Its failure repeats the delivery, which reads the thread first. If Slack does not let us
 * read the thread, the repetition would post the outcome twice, so the failure is ignored and left to the cleanup.
 */
async function ignoreIfUnreadable(request: Request, change: Promise<void>): Promise<void> {
  try {
    await change;
  } catch (thrown) {
    const isUnreadable = await readOwnPosts(request).then(
      () => false,
      (failure: unknown) => isSlackError(failure, ["refused", "gone", "rate_limited"]),
    );
    if (!(thrown instanceof SlackError) || !isUnreadable) throw thrown;
  }
}

/** Awaits a change of a message that may be gone, or that Slack may refuse. */
async function ignoreMissing(change: Promise<void>): Promise<void> {
  try {
    await change;
  } catch (thrown) {
    if (!isSlackError(thrown, ["no_such_message", "refused"])) throw thrown;
  }
}
