/** Handles one task's posts in its thread: finds them, plans the changes that show the outcome exactly once, and sets the reactions. */

import {
  isOutcome,
  isSamePost,
  type OutcomeKind,
  type PostId,
  type PostKey,
} from "../slack/api/post-keys.ts";
import {
  type MessageContent,
  type PostedMessage,
  type SlackApi,
  SlackError,
} from "../slack/api/slack.ts";
import type { SlackErrorKind } from "../task/events.ts";
import { concludedAtMs } from "../task/history.ts";
import { installationOf, type Task, threadRefOf } from "../task/task.ts";
import { deliveryMs, graceMs, threadReleaseMs } from "../task/time-limits.ts";

/** The possible error of the difference between Slack's clock and ours, which is derived from the placeholder's post. */
const clockErrorMs = 5000;

type Request = { slack: SlackApi; task: Task; signal: AbortSignal };

/** `buttons` holds the post's text while it has buttons. */
export type OwnPost = PostId & { ts: string; buttons?: { text: string } | undefined };

const filesId = { kind: "files", index: 0 } as const;
const streamId = { kind: "stream", index: 0 } as const;

/** The key of a part of the outcome. It says whose answer it is, so that the agent of another route does not get it. */
export function outcomeKey({ id, call }: Task, { kind, index }: PostId): PostKey {
  return { requestId: id, kind, index, ...(call && { destination: call.destination }) };
}

/** Finds the task's posts in its thread, oldest first. Rejects with a SlackError. */
export async function ownPosts(request: Request): Promise<OwnPost[]> {
  const { task } = request;
  const messages = await messagesFromTask(request);
  const uploads = uploadsOf(task);
  const nextTs = hasLeft(task) ? nextTaskTs(task, messages) : passedTs(task);
  return messages.flatMap((message): OwnPost[] => {
    const { ts, key, from, fileIds, text, hasButtons } = message;
    const buttons = hasButtons ? { text } : undefined;
    if (key !== undefined)
      return key.requestId === task.id ? [{ ts, kind: key.kind, index: key.index, buttons }] : [];
    if (fileIds.some((id) => uploads.includes(id))) return [{ ts, ...filesId }];
    return from === "self" && isOwnStream({ task, message, nextTs }) ? [{ ts, ...streamId }] : [];
  });
}

/** Reads the thread from the task's own message on, with messages of all writers. Rejects with a SlackError. */
export function messagesFromTask({ slack, task, signal }: Request): Promise<PostedMessage[]> {
  const { message, id: requestId } = task;
  const threadRef = threadRefOf(task);
  const oldestTs = task.threadRef === undefined ? message.ts : threadRef.threadTs;
  const thread = { installation: installationOf(task), ...threadRef, oldestTs };
  const { appId, botUsers } = message;
  return slack.replies({ ...thread, appId, botUsers, requestId, signal });
}

/** Slack returns a long thread to some apps in small pieces (15 messages a minute), so reading it may take several tries. */
const maxReads = 6;

/**
 * Like `ownPosts`, but falls back to the posts in the record if Slack does not let us read the thread (a missing scope, a permanent
 * limit), because a duplicate answer is better than none.
 */
export async function ownPostsOrKnown(request: Request): Promise<OwnPost[]> {
  try {
    return await ownPosts(request);
  } catch (thrown) {
    const isLimited = isSlackError(thrown, ["rate_limited"]) && request.task.attempts >= maxReads;
    if (!isLimited && !isSlackError(thrown, ["refused", "gone"])) throw thrown;
    return knownPosts(request.task);
  }
}

export function knownPosts({ placeholder, stream }: Task): OwnPost[] {
  const streams = (stream?.messages ?? []).map(({ ts }): OwnPost => ({ ts, ...streamId }));
  return placeholder === undefined
    ? streams
    : [{ ts: placeholder.ts, kind: "placeholder", index: 0 }, ...streams];
}

/** The file ids of the answer's uploads. */
export function uploadsOf({ outcome }: Task): string[] {
  if (outcome?.type !== "answer") return [];
  return (outcome.uploads ?? []).flatMap((upload) => ("fileId" in upload ? [upload.fileId] : []));
}

/**
 * True if the message is a stream of the task. Slack stores no key with a stream. If an unrecorded stream may exist, it is a message of
 * the bot without a key, between the placeholder and the first post of the thread's next task.
 */
function isOwnStream({
  task,
  message,
  nextTs,
}: {
  task: Task;
  message: PostedMessage;
  nextTs: number;
}): boolean {
  const { stream, placeholder } = task;
  const { ts, fileIds } = message;
  if (stream === undefined || fileIds.length > 0) return false;
  if (stream.messages.some((known) => known.ts === ts)) return true;
  const isBetween =
    Number(ts) > Number(placeholder?.ts ?? Number.POSITIVE_INFINITY) && Number(ts) < nextTs;
  return stream.inDoubt === true && isBetween;
}

/** Returns until when no other task streams in the thread, because this one held it or did not release it yet. */
function passedTs({ history, placeholder, call }: Task): number {
  const outcomeAtMs = concludedAtMs({ history }) ?? Number.POSITIVE_INFINITY;
  const deadlineAtMs = call?.deadlineAtMs ?? Number.POSITIVE_INFINITY;
  const passedAtMs = Math.min(outcomeAtMs + threadReleaseMs, deadlineAtMs + graceMs + deliveryMs);
  const slackAheadMs =
    placeholder === undefined ? 0 : Number(placeholder.ts) * 1000 - placeholder.postedAtMs;
  return (passedAtMs + slackAheadMs - clockErrorMs) / 1000;
}

function hasLeft({ state, history }: Task): boolean {
  return state === "done" || history.some((entry) => entry.state === "done");
}

function nextTaskTs({ id, placeholder }: Task, messages: readonly PostedMessage[]): number {
  const placeholderTs = placeholder?.ts ?? "0";
  const others = messages.filter(
    ({ ts, key }) => key && key.requestId !== id && Number(ts) > Number(placeholderTs),
  );
  return Math.min(...others.map(({ ts }) => Number(ts)));
}

export function isSlackError(thrown: unknown, kinds: readonly SlackErrorKind[]): boolean {
  return thrown instanceof SlackError && kinds.includes(thrown.kind);
}

export type DeliveryAction =
  | ({ type: "update"; ts: string; content: MessageContent } & PostId)
  | ({ type: "post"; content: MessageContent } & PostId)
  | { type: "share" }
  | { type: "remove"; ts: string };

/**
 * Plans the changes after which the thread shows the outcome exactly once. `found` are the task's own posts, oldest first. For each part
 * the recorded post stays, or else the earliest; duplicates are removed. The first part is an edit of the stream, or else of the
 * placeholder. With `asNew` it is a new post, and the placeholder is removed last so that the thread is never empty. A post with a part's
 * key has that part's content. Questions and openings are not parts of the outcome, so only their duplicates are removed.
 */
export function planDelivery(request: {
  parts: readonly MessageContent[];
  found: readonly OwnPost[];
  /** The `ts` of posts in the record. Only these are edited. */
  recorded?: readonly string[];
  asNew: boolean;
  /** The kind of the parts. Other posts of an outcome are removed. */
  kind: OutcomeKind;
  /** There are files to share in the thread. */
  hasFiles: boolean;
  /** The stream is the newest post of the task. */
  isStreamLatest?: boolean;
  /** The content has changed since earlier parts were posted. */
  isRevised?: boolean;
}): DeliveryAction[] {
  const {
    parts,
    found,
    recorded = [],
    asNew,
    kind,
    hasFiles,
    isStreamLatest = true,
    isRevised = false,
  } = request;
  const kept: OwnPost[] = [];
  const surplus: OwnPost[] = [];
  const find = (id: PostId) => kept.find((post) => isSamePost(post, id));
  const streams = found.filter((post) => post.kind === "stream");
  const isRecorded = ({ ts }: OwnPost) => recorded.includes(ts);
  for (const post of [
    ...found.filter(isRecorded),
    ...found.filter((other) => !isRecorded(other)),
  ]) {
    const isWanted = !isOutcome(post) || (post.kind === kind && post.index < parts.length);
    if (post.kind === "stream") continue;
    if (!isWanted || find(post) !== undefined) surplus.push(post);
    else kept.push(post);
  }
  const placeholder = find({ kind: "placeholder", index: 0 });
  const isBegun = find({ kind, index: 0 }) !== undefined;
  const stream = isStreamLatest && !isBegun ? streams.pop() : undefined;
  const edited = isBegun
    ? undefined
    : (stream ?? (asNew || streams.length > 0 ? undefined : placeholder));
  const actions = parts.flatMap((content, index): DeliveryAction[] => {
    const part = { kind, index, content };
    const post = find(part);
    if (post !== undefined) return isRevised ? [{ type: "update", ts: post.ts, ...part }] : [];
    if (index === 0 && edited !== undefined) return [{ type: "update", ts: edited.ts, ...part }];
    return [{ type: "post", ...part }];
  });
  const shares: DeliveryAction[] = hasFiles && !find(filesId) ? [{ type: "share" }] : [];
  const oldPlaceholders = placeholder === undefined || placeholder === edited ? [] : [placeholder];
  const removals = [...surplus, ...streams, ...oldPlaceholders].map(
    ({ ts }): DeliveryAction => ({ type: "remove", ts }),
  );
  return [...actions, ...shares, ...removals];
}
