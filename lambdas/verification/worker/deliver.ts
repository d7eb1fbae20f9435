/** The acts that post in the thread: `deliver` the outcome, `cleanUpThread` later, and `openThread` for a slash command. */

import { isOutcome, type OutcomeKind, type PostId } from "../slack/api/post-keys.ts";
import { type MessageContent, type SlackApi, SlackError } from "../slack/api/slack.ts";
import { createOutgoingFiles } from "../slack/messages/answer.ts";
import type { TaskText } from "../slack/messages/task-text.ts";
import { hasFailedDelivery, installationOf, type Task, threadRefOf } from "../task/task.ts";
import { type Indicators, markOver } from "./indicators.ts";
import {
  type DeliveryAction,
  isSlackError,
  knownPosts,
  type OwnPost,
  outcomeKey,
  ownPosts,
  ownPostsOrKnown,
  planDelivery,
  uploadsOf,
} from "./own-posts.ts";
import { questionTsOf } from "./questions.ts";

/** After this time the answer is a new message, because Slack sends no notification for an edit of the placeholder. */
const editNotifiesNobodyAfterMs = 60_000;

type Request = {
  slack: SlackApi;
  task: Task;
  text: TaskText;
  indicators: Indicators;
  nowMs: number;
  signal: AbortSignal;
};

/** Posts the outcome. With `reconcile` it first looks for posts that an earlier try may have left. */
export async function deliver(
  request: Request & { reconcile: boolean },
): Promise<"delivered" | "share_refused"> {
  const { task, reconcile } = request;
  if (task.delivery?.status === "failure_notice") return postFailureNotice(request);
  const isUnsure = reconcile || task.stream?.inDoubt === true;
  const found = isUnsure ? await ownPostsOrKnown(request) : knownPosts(task);
  for (const { ts } of found.filter(({ kind }) => kind === "stream"))
    await closeStream(request, ts);
  for (const action of planRequest(request, { found, asNew: isNew(request) })) {
    if (action.type === "remove") await unlessUnseen(request, perform(request, action));
    else if (action.type !== "share") await perform(request, action);
    else if (!(await share(request))) return "share_refused";
  }
  // The task is over, so the question's buttons go.
  const questionTs = task.question === undefined ? undefined : await questionTsOf(request);
  if (questionTs !== undefined) await unlessUnseen(request, closeQuestion(request, questionTs));
  if (task.placeholder !== undefined) await markOver(request);
  return "delivered";
}

/**
 * Posts one plain text, unless the thread shows the whole outcome because only a later change had failed. If the thread cannot be read,
 * it is posted anyway, unless an earlier try may have posted it.
 */
async function postFailureNotice(request: Request & { reconcile: boolean }): Promise<"delivered"> {
  const found = await ownPosts(request).catch((thrown: unknown) => {
    if (request.reconcile || !(thrown instanceof SlackError)) throw thrown;
    return [];
  });
  const isThere = planRequest(request, { found, asNew: true }).every(
    ({ type }) => type === "remove",
  );
  if (isThere || found.some(({ kind }) => kind === "own_text")) return "delivered";
  const [content] = request.text.parts(request.task);
  if (content !== undefined)
    await perform(request, { type: "post", kind: "own_text", index: 0, content });
  return "delivered";
}

/** Shares the uploaded files. Resolves to false if Slack refuses for good. */
async function share({ slack, task, signal }: Request): Promise<boolean> {
  const call = {
    installation: installationOf(task),
    ...threadRefOf(task),
    requestId: task.id,
    signal,
  };
  try {
    await slack.shareUploads({ ...call, files: sharesOf(task) });
    return true;
  } catch (thrown) {
    if (isSlackError(thrown, ["refused", "gone", "no_such_message"])) return false;
    throw thrown;
  }
}

/** True if `cleanUpThread` has something to do. Only reads. */
export async function hasLeftovers(request: Request): Promise<boolean> {
  const found = await ownPosts(request);
  if (hasSurplus(request, found) || found.some(hasOldButtons)) return true;
  return (await findSurplusOpenings(request)).length > 0;
}

/** One post that begins the outcome is never surplus, however many parts the outcome has, so its text is not rendered again. */
function hasSurplus(request: Request, found: readonly OwnPost[]): boolean {
  const [first, ...others] = found;
  const begins = first?.index === 0 && first.kind === outcomeKindOf(request.task);
  if (begins && others.length === 0) return false;
  const plan = planRequest(request, { found, asNew: true });
  return plan.some(({ type }) => type === "remove");
}

/** The button to try a failed task again stays. */
function hasOldButtons(post: OwnPost): boolean {
  return post.buttons !== undefined && !isOutcome(post);
}

/**
 * Deletes duplicates that arrived late, and removes the buttons of questions. It posts nothing, because a confirmed post that is missing
 * was deleted by a person.
 */
export async function cleanUpThread(request: Request): Promise<void> {
  const found = await ownPosts(request);
  const removed = new Set<string>();
  for (const action of planRequest(request, { found, asNew: true })) {
    if (action.type !== "remove") continue;
    await perform(request, action);
    removed.add(action.ts);
  }
  for (const post of found.filter(hasOldButtons))
    if (!removed.has(post.ts)) await closeButtons(request, post);
  for (const opening of await findSurplusOpenings(request)) await removeIn(request, opening);
}

/** Removes a question's buttons. The record has the latest question only, so an earlier one keeps its text from Slack. */
async function closeButtons(request: Request, post: OwnPost): Promise<void> {
  const { ts, kind, index, buttons } = post;
  if (buttons === undefined) return;
  if (kind === "question" && index === request.task.question?.index)
    await closeQuestion(request, ts);
  else await showOneOf(request, { ts, kind, index, contents: [{ text: buttons.text }] });
}

async function closeQuestion(request: Request, ts: string): Promise<void> {
  const { task, text } = request;
  const { index = 0, expiresAtMs: nowMs = 0 } = task.question ?? {};
  const contents = [task, { ...task, mrkdwnFallback: true as const }].map((shown) =>
    text.question({ task: shown, nowMs }),
  );
  await showOneOf(request, { ts, kind: "question", index, contents });
}

/** Edits the message to the first content that Slack accepts. If it accepts none, the message is deleted, so that no buttons stay. */
async function showOneOf(
  request: Request,
  { ts, kind, index, contents }: PostId & { ts: string; contents: readonly MessageContent[] },
): Promise<void> {
  const { slack, task, signal } = request;
  const { channel } = threadRefOf(task);
  const post = {
    installation: installationOf(task),
    channel,
    ts,
    key: { requestId: task.id, kind, index },
    signal,
  };
  for (const content of contents) {
    try {
      return await slack.update({ ...post, content });
    } catch (thrown) {
      if (isSlackError(thrown, ["no_such_message"])) return;
      if (!isSlackError(thrown, ["refused", "gone"])) throw thrown;
    }
  }
  // Deleting may be allowed where posting is not.
  await removeIn(request, { channel, ts }).catch((thrown: unknown) => {
    if (!isSlackError(thrown, ["gone"])) throw thrown;
  });
}

/** Finds all openings of a slash command's thread except the recorded one. A post that arrived late may have opened a second one. */
async function findSurplusOpenings(request: Request): Promise<{ channel: string; ts: string }[]> {
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

function planRequest(
  { task, text, nowMs }: Request,
  { found, asNew }: { found: readonly OwnPost[]; asNew: boolean },
) {
  const hasFiles = uploadsOf(task).length > 0;
  const isRevised = task.delivery?.rewriteParts === true;
  const isStreamLatest = isStreamRecent({ task, nowMs });
  // If the failure notice is not in the thread, the parts of the answer stay.
  const hasFailureNotice = hasFailedDelivery(task) && found.some(({ kind }) => kind === "own_text");
  const parts = text.parts(hasFailureNotice ? task : { ...task, delivery: undefined });
  const kind = hasFailureNotice ? "own_text" : outcomeKindOf(task);
  const recorded = recordedPosts(task);
  return planDelivery({
    parts,
    kind,
    found,
    recorded,
    asNew,
    hasFiles,
    isStreamLatest,
    isRevised,
  });
}

/** True if the answer must be a new message. An edit of the placeholder could go unnoticed, be above a question, or be overwritten late. */
function isNew({ task: { placeholder, question, progress }, nowMs }: Request): boolean {
  const isLate =
    placeholder !== undefined && nowMs - placeholder.postedAtMs > editNotifiesNobodyAfterMs;
  return isLate || question !== undefined || progress?.inDoubt === true;
}

/** True if the stream is the newest post: there is no question below it, and it grew within the last minute. */
function isStreamRecent({
  task: { question, progress, stream },
  nowMs,
}: {
  task: Task;
  nowMs: number;
}): boolean {
  const startedAtMs = stream?.messages.at(-1)?.startedAtMs ?? 0;
  if (question !== undefined && startedAtMs <= question.askedAtMs) return false;
  return progress === undefined || nowMs - progress.shownAtMs <= editNotifiesNobodyAfterMs;
}

/** A failure in blocks has the kind of answers: its reference tells it from them (`slack/messages/thread-history.ts`). */
function outcomeKindOf({ outcome, mrkdwnFallback }: Task): OutcomeKind {
  if (outcome?.type === "help" || (outcome?.type === "failed" && outcome.insteadOfAnswer))
    return "own_text";
  if (mrkdwnFallback === undefined) return "answer";
  return outcome?.type === "answer" ? "mrkdwn_answer" : "own_text";
}

function recordedPosts({ placeholder, question }: Task): string[] {
  return [placeholder?.ts, question?.ts].filter((ts) => ts !== undefined);
}

/** Stops a stream, because Slack refuses edits of a message that is still streaming. If that fails, the answer is a new post. */
async function closeStream({ slack, task, signal }: Request, ts: string): Promise<void> {
  const { channel } = threadRefOf(task);
  const call = { installation: installationOf(task), channel, requestId: task.id, signal };
  await unlessGone(slack.stopStream({ ...call, ts }));
}

async function perform(
  request: Request,
  action: Exclude<DeliveryAction, { type: "share" }>,
): Promise<void> {
  const { slack, task, signal } = request;
  const installation = installationOf(task);
  const { channel, threadTs } = threadRefOf(task);
  if (action.type === "remove") return removeIn(request, { channel, ts: action.ts });
  const { content } = action;
  const post = { installation, channel, content, key: outcomeKey(task, action), signal };
  if (action.type === "update") {
    try {
      return await slack.update({ ...post, ts: action.ts });
    } catch (thrown) {
      if (!isSlackError(thrown, ["no_such_message", "refused"])) throw thrown;
      // The edit is impossible, so the content is posted as a new message and the old one is deleted.
      await slack.post({ ...post, threadTs });
      return removeIn(request, { channel, ts: action.ts });
    }
  }
  await slack.post({ ...post, threadTs });
}

/** Deletes a message. If the workspace forbids that, an edit removes its buttons and says that it is not the answer. */
async function removeIn(
  request: Request,
  { channel, ts }: { channel: string; ts: string },
): Promise<void> {
  const { slack, task, text, signal } = request;
  const installation = installationOf(task);
  try {
    await slack.remove({ installation, channel, ts, requestId: task.id, signal });
  } catch (thrown) {
    if (!isSlackError(thrown, ["no_such_message", "refused"])) throw thrown;
    if (thrown instanceof SlackError && thrown.slackError === "message_not_found") return;
    const key = { requestId: task.id, kind: "replaced", index: 0 } as const;
    await unlessGone(
      slack.update({ installation, channel, ts, content: text.replaced(task), key, signal }),
    );
  }
}

function sharesOf(task: Task): { fileId: string; title: string }[] {
  if (task.outcome?.type !== "answer") return [];
  const names = createOutgoingFiles(task).map(({ name }) => name);
  return (task.outcome.uploads ?? []).flatMap((upload, index) =>
    "fileId" in upload ? [{ fileId: upload.fileId, title: names[index] ?? "" }] : [],
  );
}

/**
 * Awaits a change after the outcome was posted. Its failure repeats the delivery, which reads the thread first. If Slack does not let us
 * read the thread, the repetition would post the outcome twice, so the failure is ignored and left to the cleanup.
 */
async function unlessUnseen(request: Request, change: Promise<void>): Promise<void> {
  try {
    await change;
  } catch (thrown) {
    const isUnseen = await ownPosts(request).then(
      () => false,
      (failure: unknown) => isSlackError(failure, ["refused", "gone", "rate_limited"]),
    );
    if (!(thrown instanceof SlackError) || !isUnseen) throw thrown;
  }
}

async function unlessGone(change: Promise<void>): Promise<void> {
  try {
    await change;
  } catch (thrown) {
    if (!isSlackError(thrown, ["no_such_message", "refused"])) throw thrown;
  }
}

type ThreadRef = { channel: string; threadTs: string };
type OpenRequest = { slack: SlackApi; task: Task; text: TaskText; signal: AbortSignal };

/** The assumed limit of the difference between Slack's clock and ours. */
const skewSeconds = 300;

/**
 * Opens a thread for a slash command, with a message that says who asked what. If the bot may not post in the channel, the thread is in
 * the person's direct messages. Rejects with a SlackError.
 */
export async function openThread(
  request: OpenRequest & { privately: boolean; reconcile: boolean },
): Promise<ThreadRef> {
  const { task, privately, reconcile } = request;
  // A thread that an earlier try opened in the channel is used, even if `privately` is now set.
  const [earlier] = reconcile ? await findOpenings(request, task.message.channel) : [];
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
  const direct = await slack.openDirect({
    installation: installationOf(task),
    user,
    requestId: task.id,
    signal,
  });
  return openIn(request, direct.channel);
}

/** Posts the opening in the channel, or finds the one that an earlier try posted. */
async function openIn(
  request: OpenRequest & { reconcile: boolean },
  channel: string,
): Promise<ThreadRef> {
  const { slack, task, text, reconcile, signal } = request;
  const [earlier] = reconcile ? await findOpenings(request, channel) : [];
  if (earlier !== undefined) return { channel, threadTs: earlier };
  const content = text.opening({ ...task, threadRef: { channel, threadTs: "0.0" } });
  const key = { requestId: task.id, kind: "opening", index: 0 } as const;
  const target = { installation: installationOf(task), channel, threadTs: undefined };
  const { ts } = await slack.post({ ...target, content, key, signal });
  return { channel, threadTs: ts };
}

/** Finds the `ts` of the task's openings in the channel, oldest first. Resolves to none if the bot may not read there. */
async function findOpenings(
  { slack, task, signal }: OpenRequest,
  channel: string,
): Promise<string[]> {
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
  } catch (thrown) {
    if (isSlackError(thrown, ["gone", "refused"])) return [];
    throw thrown;
  }
}
