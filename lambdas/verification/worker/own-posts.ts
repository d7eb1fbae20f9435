/** Finds one task's posts: in its thread, or in its record. */

import type { PostId, PostKey } from "../slack/api/post-keys.ts";
import { type PostedMessage, type SlackApi, SlackError } from "../slack/api/slack.ts";
import type { SlackErrorKind } from "../task/events.ts";
import { concludedAtMs } from "../task/history.ts";
import { installationOf, type Task, threadRefOf } from "../task/task.ts";
import { deliveryMs, graceMs, threadReleaseMs } from "../task/time-limits.ts";

/** Slack's clock is known from the time of the placeholder's post. This is the possible error of that. */
const slackClockErrorMs = 5000;

type Request = { slack: SlackApi; task: Task; signal: AbortSignal };

/** `buttons` holds the post's text while it has buttons. */
export type OwnPost = PostId & { ts: string; buttons?: { text: string } | undefined };

export const placeholderId = { kind: "placeholder", index: 0 } as const;
export const filesId = { kind: "files", index: 0 } as const;
const streamId = { kind: "stream", index: 0 } as const;

/** The task's latest question. */
export function questionIdOf({ question }: Task): PostId {
  return { kind: "question", index: question?.index ?? 0 };
}

/** The key of a part of the outcome. It says whose answer it is, so that the agent of another route does not get it. */
export function outcomeKey({ id, call }: Task, { kind, index }: PostId): PostKey {
  return { requestId: id, kind, index, ...(call && { destination: call.destination }) };
}

/** Reads the task's posts in its thread, oldest first. Rejects with a SlackError. */
export async function readOwnPosts(request: Request): Promise<OwnPost[]> {
  const { task } = request;
  const messages = await readMessages(request);
  const uploadedIds = uploadedIdsOf(task);
  const endTs = hasReleasedThread(task) ? nextTaskTs(task, messages) : threadReleaseSeconds(task);
  return messages.flatMap((message): OwnPost[] => {
    const { ts, key, from, fileIds, text, hasButtons } = message;
    const buttons = hasButtons ? { text } : undefined;
    if (key !== undefined)
      return key.requestId === task.id ? [{ ts, kind: key.kind, index: key.index, buttons }] : [];
    if (fileIds.some((id) => uploadedIds.includes(id))) return [{ ts, ...filesId }];
    return from === "self" && isOwnStream({ task, message, endTs }) ? [{ ts, ...streamId }] : [];
  });
}

/** Reads the thread from the task's own message on, with messages of all writers. Rejects with a SlackError. */
export function readMessages({ slack, task, signal }: Request): Promise<PostedMessage[]> {
  const { message, id: requestId } = task;
  const threadRef = threadRefOf(task);
  const oldestTs = task.threadRef === undefined ? message.ts : threadRef.threadTs;
  const thread = { installation: installationOf(task), ...threadRef, oldestTs };
  const { appId, botUsers } = message;
  return slack.replies({ ...thread, appId, botUsers, requestId, signal });
}

/** Slack returns a long thread to some apps in small pieces (15 messages a minute), so reading it may take several tries. */
const maxLimitedReads = 6;

/** Slack's rate limit kept us from reading the thread. Unlike that of a post, it may be permanent. */
export class ReadLimited extends SlackError {
  constructor({ retryAfterMs }: Pick<SlackError, "retryAfterMs">) {
    super("rate_limited", retryAfterMs === undefined ? {} : { retryAfterMs });
  }
}

/**
 * Like `readOwnPosts`, but falls back to the record if Slack does not let us read the thread (a missing scope, a permanent limit), because
 * a duplicate answer is better than none.
 */
export async function readOwnPostsOrRecorded(request: Request): Promise<OwnPost[]> {
  const { task } = request;
  try {
    return await readOwnPosts(request);
  } catch (error) {
    if (!(error instanceof SlackError)) throw error;
    const isLimited = error.kind === "rate_limited";
    if (isLimited && (task.limitedReads ?? 0) < maxLimitedReads) throw new ReadLimited(error);
    if (!isLimited && !isSlackError(error, ["refused", "gone"])) throw error;
    return recordedPosts(task);
  }
}

export function recordedPosts({ placeholder, stream }: Task): OwnPost[] {
  const streams = (stream?.messages ?? []).map(({ ts }): OwnPost => ({ ts, ...streamId }));
  return placeholder === undefined
    ? streams
    : [{ ts: placeholder.ts, ...placeholderId }, ...streams];
}

/** The ids of the answer's uploaded files. */
export function uploadedIdsOf({ outcome }: Task): string[] {
  if (outcome?.type !== "answer") return [];
  return (outcome.uploads ?? []).flatMap((upload) => ("fileId" in upload ? [upload.fileId] : []));
}

/**
 * True if the message is a stream of the task. Slack stores no key with a stream. If an unrecorded stream may exist, it is a message of
 * the bot without a key, between the placeholder and `endTs`.
 */
function isOwnStream({
  task,
  message,
  endTs,
}: {
  task: Task;
  message: PostedMessage;
  endTs: number;
}): boolean {
  const { stream, placeholder } = task;
  const { ts, fileIds } = message;
  if (stream === undefined || fileIds.length > 0) return false;
  if (stream.messages.some((recorded) => recorded.ts === ts)) return true;
  const isBetween =
    Number(ts) > Number(placeholder?.ts ?? Number.POSITIVE_INFINITY) && Number(ts) < endTs;
  return stream.inDoubt === true && isBetween;
}

/** Returns the time on Slack's clock until which no other task can have streamed in the thread, because this task held it. */
function threadReleaseSeconds({ history, placeholder, call }: Task): number {
  const outcomeAtMs = concludedAtMs({ history }) ?? Number.POSITIVE_INFINITY;
  const deadlineAtMs = call?.deadlineAtMs ?? Number.POSITIVE_INFINITY;
  const releaseAtMs = Math.min(outcomeAtMs + threadReleaseMs, deadlineAtMs + graceMs + deliveryMs);
  const slackAheadMs =
    placeholder === undefined ? 0 : Number(placeholder.ts) * 1000 - placeholder.postedAtMs;
  return (releaseAtMs + slackAheadMs - slackClockErrorMs) / 1000;
}

function hasReleasedThread({ state, history }: Task): boolean {
  return state === "done" || history.some((entry) => entry.state === "done");
}

/** The first post of the thread's next task. */
function nextTaskTs({ id, placeholder }: Task, messages: readonly PostedMessage[]): number {
  const placeholderTs = placeholder?.ts ?? "0";
  const laterPosts = messages.filter(
    ({ ts, key }) => key && key.requestId !== id && Number(ts) > Number(placeholderTs),
  );
  return Math.min(...laterPosts.map(({ ts }) => Number(ts)));
}

export function isSlackError(thrown: unknown, kinds: readonly SlackErrorKind[]): boolean {
  return thrown instanceof SlackError && kinds.includes(thrown.kind);
}
