/** The posts of one task in its thread: looked up by their metadata, or as far as the record knows them. */

import { type PostedMessage, type SlackApi, SlackError } from "../slack/api/slack.ts";
import { filesPart, placeholderPart, streamPart } from "../slack/messages/message-marks.ts";
import type { SlackErrorKind } from "../task/events.ts";
import { deliveryMs } from "../task/received.ts";
import { concludedAtMs, graceMs, threadReleaseMs } from "../task/step.ts";
import { installationOf, placeOf, type Task } from "../task/task.ts";

/** The call by which the placeholder tells Slack's clock from ours takes no longer. */
const clockErrorMs = 5000;

type Request = { slack: SlackApi; task: Task; signal: AbortSignal };

/** `part` says what it is (`slack/messages/message-marks.ts`); `buttons`: it can still be pressed, and this is its text. */
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

// The marks beside the words: reactions on the message, the assistant's status. Decoration: whether they work changes nothing.

/** `reactions`: names of emoji, or none at all. `assistant`: conversations with the app show a status. */
export type Indicators = {
  reactions: { received: string; done: string; failed: string } | undefined;
  assistant: boolean;
};

type ReactRequest = { slack: SlackApi; task: Task; indicators: Indicators; signal: AbortSignal };

export async function markReceived(request: ReactRequest & { status: string }): Promise<void> {
  const { indicators, status } = request;
  if (indicators.reactions !== undefined) await react(request, indicators.reactions.received, true);
  await setStatus(request, status);
}

export async function markOver(request: ReactRequest): Promise<void> {
  const { indicators, task } = request;
  await setStatus(request, "");
  if (indicators.reactions === undefined) return;
  const { received, done, failed } = indicators.reactions;
  await react(request, received, false);
  const { outcome } = task;
  if (outcome?.type === "answer") await react(request, done, true);
  else if (outcome?.type !== "canceling") await react(request, failed, true);
}

/** The message was an answer, and has been taken as one. */
export async function markTaken(request: ReactRequest): Promise<void> {
  if (request.indicators.reactions !== undefined) await react(request, request.indicators.reactions.done, true);
}

async function react({ slack, task, signal }: ReactRequest, name: string, present: boolean): Promise<void> {
  const { channel, ts, command } = task.message;
  // A slash command leaves no message that could be marked.
  if (command) return;
  const installation = installationOf(task);
  await slack.react({ installation, channel, ts, name, present, requestId: task.id, signal }).catch(() => {});
}

async function setStatus({ slack, task, indicators, signal }: ReactRequest, status: string): Promise<void> {
  const { direct, threadTs } = task.message;
  if (!indicators.assistant || !direct || threadTs === undefined) return;
  const installation = installationOf(task);
  await slack.setStatus({ installation, ...placeOf(task), status, requestId: task.id, signal }).catch(() => {});
}
