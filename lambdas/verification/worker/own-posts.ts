/** The posts of one task in its thread: which are there, which must follow so that the outcome stands there once, and the marks beside them. */

import { type MessageContent, type PostedMessage, type SlackApi, SlackError } from "../slack/api/slack.ts";
import { filesPart, insteadPart, placeholderPart, questionPart, streamPart } from "../slack/messages/message-marks.ts";
import type { SlackErrorKind } from "../task/events.ts";
import { concludedAtMs, deliveryMs, graceMs, threadReleaseMs } from "../task/step.ts";
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

export function knownPosts({ placeholder, stream }: Task): OwnPost[] {
  const streams = (stream?.messages ?? []).map(({ ts }) => ({ ts, part: streamPart }));
  return placeholder === undefined ? streams : [{ ts: placeholder.ts, part: placeholderPart }, ...streams];
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
  const { stream, placeholder } = task;
  const { ts, fileIds } = message;
  if (stream === undefined || fileIds.length > 0) return false;
  if (stream.messages.some((known) => known.ts === ts)) return true;
  const isBetween = Number(ts) > Number(placeholder?.ts ?? Number.POSITIVE_INFINITY) && Number(ts) < nextTs;
  return stream.inDoubt === true && isBetween;
}

/** Until it has left its thread, or was passed, nobody else streams there. What it began itself is there before it is passed. */
function passedTs({ history, placeholder, call }: Task): number {
  const outcomeAtMs = concludedAtMs({ history }) ?? Number.POSITIVE_INFINITY;
  const deadlineAtMs = call?.deadlineAtMs ?? Number.POSITIVE_INFINITY;
  const passedAtMs = Math.min(outcomeAtMs + threadReleaseMs, deadlineAtMs + graceMs + deliveryMs);
  const slackAheadMs = placeholder === undefined ? 0 : Number(placeholder.ts) * 1000 - placeholder.postedAtMs;
  return (passedAtMs + slackAheadMs - clockErrorMs) / 1000;
}

function hasLeft({ state, history }: Task): boolean {
  return state === "done" || history.some((entry) => entry.state === "done");
}

function nextTaskTs({ id, placeholder }: Task, messages: readonly PostedMessage[]): number {
  const placeholderTs = placeholder?.ts ?? "0";
  const others = messages.filter(({ ts, key }) => key && key.requestId !== id && Number(ts) > Number(placeholderTs));
  return Math.min(...others.map(({ ts }) => Number(ts)));
}

export function isSlackError(thrown: unknown, kinds: readonly SlackErrorKind[]): boolean {
  return thrown instanceof SlackError && kinds.includes(thrown.kind);
}

export type DeliveryAction =
  | { type: "update"; ts: string; part: number; content: MessageContent }
  | { type: "post"; part: number; content: MessageContent }
  | { type: "share" }
  | { type: "remove"; ts: string };

/** As many as words instead of an answer could ever have. */
const maxParts = 500;

/**
 * Which posts make the thread show the outcome exactly once, given the posts that are there.
 * `found` are the task's own posts, oldest first. Of each part the post that is in the record stays, else the earliest; surplus
 * ones go. A stream becomes part 1;
 * without one the placeholder does, unless `asNew` (an edit notifies nobody, and stands above what was asked meanwhile): then
 * it goes last, so that the thread is never without a word. A post that carries its part's key has its part's content.
 * Questions and what opened the thread are no parts of the outcome; of them only what is there twice goes.
 */
export function planDelivery({
  parts,
  found,
  recorded = [],
  asNew,
  firstPart,
  hasFiles,
  isStreamLatest = true,
  isRevised = false,
}: {
  parts: readonly MessageContent[];
  found: readonly OwnPost[];
  /** The `ts` of posts that the record names: the product edits those, and no others. */
  recorded?: readonly string[];
  asNew: boolean;
  /** The first part's number; what has another is none of these parts. */
  firstPart: number;
  /** There are files that the thread is to show. */
  hasFiles: boolean;
  /** The stream is where whoever reads the thread has been last. */
  isStreamLatest?: boolean;
  /** What is there may say something else by now. */
  isRevised?: boolean;
}): DeliveryAction[] {
  const byPart = new Map<number, OwnPost>();
  const surplus: OwnPost[] = [];
  const streams = found.filter(({ part }) => part === streamPart);
  const isRecorded = ({ ts }: OwnPost) => recorded.includes(ts);
  for (const post of [...found.filter(isRecorded), ...found.filter((other) => !isRecorded(other))]) {
    const { part } = post;
    const isWanted = !isOutcome(part) || (part >= firstPart && part < firstPart + parts.length);
    if (part === streamPart) continue;
    if (!isWanted || byPart.has(part)) surplus.push(post);
    else byPart.set(part, post);
  }
  const placeholder = byPart.get(placeholderPart);
  const stream = isStreamLatest && !byPart.has(firstPart) ? streams.pop() : undefined;
  const edited = byPart.has(firstPart)
    ? undefined
    : (stream ?? (asNew || streams.length > 0 ? undefined : placeholder));
  const actions = parts.flatMap((content, index): DeliveryAction[] => {
    const part = firstPart + index;
    const there = byPart.get(part);
    if (there !== undefined) return isRevised ? [{ type: "update", ts: there.ts, part, content }] : [];
    if (index === 0 && edited !== undefined) return [{ type: "update", ts: edited.ts, part, content }];
    return [{ type: "post", part, content }];
  });
  const shares: DeliveryAction[] = hasFiles && !byPart.has(filesPart) ? [{ type: "share" }] : [];
  const left = placeholder === undefined || placeholder === edited ? [] : [placeholder];
  const removals = [...surplus, ...streams, ...left].map(({ ts }): DeliveryAction => ({ type: "remove", ts }));
  return [...actions, ...shares, ...removals];
}

/** An answer's or what stands instead of one. */
function isOutcome(part: number): boolean {
  return part > placeholderPart && part < Math.min(insteadPart + maxParts, questionPart);
}

/**
 * The marks beside the words are decoration: whether they work changes nothing. `reactions`: names of emoji, or none at all.
 * `assistant`: conversations with the app show a status.
 */
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
