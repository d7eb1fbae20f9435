/** The posts of one task in its thread: looked up by their metadata, or as far as the record knows them. */
import { filesPart, placeholderPart, streamPart } from "../slack/post-parts.ts";
import { type PostedMessage, type SlackApi, SlackError, type SlackErrorKind } from "../slack/slack.ts";
import { threadReleaseMs } from "../task/delays.ts";
import { concludedAtMs } from "../task/history.ts";
import { deliveryMs } from "../task/received.ts";
import { graceMs } from "../task/step.ts";
import { installationOf, placeOf, type Task } from "../task/task.ts";

/** The call by which the placeholder tells Slack's clock from ours takes no longer. */
const clockErrorMs = 5000;

type Request = { slack: SlackApi; task: Task; signal: AbortSignal };

/** `part` says what it is (`slack/post-parts.ts`); `buttons`: it can still be pressed, and this is its text. */
export type OwnPost = { ts: string; part: number; buttons?: { text: string } | undefined };

/** Oldest first. Rejects with a SlackError. */
export async function ownPosts(request: Request): Promise<OwnPost[]> {
  const { task } = request;
  const messages = await messagesFromTask(request);
  const uploads = uploadsOf(task);
  const nextTs = hasLeft(task) ? nextTaskTs(task, messages) : passedTs(task);
  return messages.flatMap((message): OwnPost[] => {
    const { ts, key, from, fileIds, text, hasButtons } = message;
    const buttons = hasButtons ? { text } : undefined;
    if (key !== undefined) return key.requestId === task.id ? [{ ts, part: key.part, buttons }] : [];
    if (fileIds.some((id) => uploads.includes(id))) return [{ ts, part: filesPart }];
    return from === "self" && isOwnStream({ task, message, nextTs }) ? [{ ts, part: streamPart }] : [];
  });
}

/** Whoever wrote them: what the thread shows from the task's own message on, that among them. Rejects with a SlackError. */
export function messagesFromTask({ slack, task, signal }: Request): Promise<PostedMessage[]> {
  const { message, id: requestId } = task;
  const place = placeOf(task);
  const oldestTs = task.place === undefined ? message.ts : place.threadTs;
  return slack.replies({
    installation: installationOf(task),
    ...place,
    oldestTs,
    appId: message.appId,
    requestId,
    signal,
  });
}

/** So often a long thread is tried to be read that Slack gives in small pieces (15 messages a minute to some apps). */
const maxReads = 6;

/**
 * Where Slack does not let us look (a missing scope, a limit that never ends), what the record knows must do: an answer is
 * worth more than a doubled one.
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

export function knownPosts({ placeholderTs, stream }: Task): OwnPost[] {
  const streams = (stream?.messages ?? []).map(({ ts }) => ({ ts, part: streamPart }));
  return placeholderTs === undefined ? streams : [{ ts: placeholderTs, part: placeholderPart }, ...streams];
}

/** The ids of the answer's files that Slack has. */
export function uploadsOf({ outcome }: Task): string[] {
  if (outcome?.type !== "answer") return [];
  return (outcome.uploads ?? []).flatMap((upload) => ("fileId" in upload ? [upload.fileId] : []));
}

/**
 * A stream has no key. One that may have been begun unknown to us is whatever of ours came after the placeholder without one,
 * and before the next task of the thread showed itself.
 */
function isOwnStream({ task, message, nextTs }: { task: Task; message: PostedMessage; nextTs: number }): boolean {
  const { stream, placeholderTs } = task;
  const { ts, fileIds } = message;
  if (stream === undefined || fileIds.length > 0) return false;
  if (stream.messages.some((known) => known.ts === ts)) return true;
  const isBetween = Number(ts) > Number(placeholderTs ?? Number.POSITIVE_INFINITY) && Number(ts) < nextTs;
  return stream.inDoubt === true && isBetween;
}

/** Until it has left its thread, or was passed, nobody else streams there. What it began itself is there before it is passed. */
function passedTs({ history, placeholderTs, announcedAtMs, deadlineAtMs = Number.POSITIVE_INFINITY }: Task): number {
  const outcomeAtMs = concludedAtMs({ history }) ?? Number.POSITIVE_INFINITY;
  const passedAtMs = Math.min(outcomeAtMs + threadReleaseMs, deadlineAtMs + graceMs + deliveryMs);
  const isTold = placeholderTs !== undefined && announcedAtMs !== undefined;
  const slackAheadMs = isTold ? Number(placeholderTs) * 1000 - announcedAtMs : 0;
  return (passedAtMs + slackAheadMs - clockErrorMs) / 1000;
}

function hasLeft({ state, history }: Task): boolean {
  return state === "done" || history.some((entry) => entry.state === "done");
}

function nextTaskTs({ id, placeholderTs = "0" }: Task, messages: readonly PostedMessage[]): number {
  const others = messages.filter(({ ts, key }) => key && key.requestId !== id && Number(ts) > Number(placeholderTs));
  return Math.min(...others.map(({ ts }) => Number(ts)));
}

export function isSlackError(thrown: unknown, kinds: readonly SlackErrorKind[]): boolean {
  return thrown instanceof SlackError && kinds.includes(thrown.kind);
}
