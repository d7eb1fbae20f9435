/** The acts that bring the outcome into the thread: deliver it, and two minutes later look once more. */

import { type MessageContent, type SlackApi, SlackError } from "../slack/api/slack.ts";
import { createOutgoingFiles } from "../slack/messages/answer.ts";
import {
  answerPart,
  insteadPart,
  openingPart,
  plainPart,
  questionPart,
  replacedPart,
  streamPart,
} from "../slack/messages/message-marks.ts";
import type { TaskText } from "../slack/messages/task-text.ts";
import { hasFailedDelivery, installationOf, placeOf, type Task } from "../task/task.ts";
import {
  type DeliveryAction,
  type Indicators,
  isSlackError,
  knownPosts,
  markOver,
  type OwnPost,
  ownPosts,
  ownPostsOrKnown,
  planDelivery,
  uploadsOf,
} from "./own-posts.ts";
import { questionTsOf } from "./questions.ts";

/** An edit notifies nobody: what took longer is a new message. */
const editNotifiesNobodyAfterMs = 60_000;

type Request = {
  slack: SlackApi;
  task: Task;
  text: TaskText;
  indicators: Indicators;
  nowMs: number;
  signal: AbortSignal;
};

/** With `reconcile` an earlier try may have left posts behind: they are looked up first. */
export async function deliver(request: Request & { reconcile: boolean }): Promise<"delivered" | "share_refused"> {
  const { task, reconcile } = request;
  if (task.delivery?.status === "last_words") return sayLastText(request);
  const isUnsure = reconcile || task.stream?.inDoubt === true;
  const found = isUnsure ? await ownPostsOrKnown(request) : knownPosts(task);
  for (const { ts } of found.filter(({ part }) => part === streamPart)) await closeStream(request, ts);
  for (const action of planOf(request, { found, asNew: isNew(request) })) {
    if (action.type === "remove") await tidy(request, perform(request, action));
    else if (action.type !== "share") await perform(request, action);
    else if (!(await share(request))) return "share_refused";
  }
  // However it ended: nobody is to press its buttons any more.
  const questionTs = task.question === undefined ? undefined : await questionTsOf(request);
  if (questionTs !== undefined) await tidy(request, closeQuestion(request, questionTs));
  if (task.placeholder !== undefined) await markOver(request);
  return "delivered";
}

/**
 * One post, where the thread does not show the whole outcome: then it was the cleanup that failed. Where the thread cannot be
 * looked at, it is posted all the same, unless it may be there already.
 */
async function sayLastText(request: Request & { reconcile: boolean }): Promise<"delivered"> {
  const found = await ownPosts(request).catch((thrown: unknown) => {
    if (request.reconcile || !(thrown instanceof SlackError)) throw thrown;
    return [];
  });
  const isThere = planOf(request, { found, asNew: true }).every(({ type }) => type === "remove");
  if (isThere || found.some(({ part }) => part === insteadPart)) return "delivered";
  const [content] = request.text.parts(request.task);
  if (content !== undefined) await perform(request, { type: "post", part: insteadPart, content });
  return "delivered";
}

/** False where Slack refuses for good, which says nothing of the answer's words. */
async function share({ slack, task, signal }: Request): Promise<boolean> {
  const call = { installation: installationOf(task), ...placeOf(task), requestId: task.id, signal };
  try {
    await slack.shareUploads({ ...call, files: sharesOf(task) });
    return true;
  } catch (thrown) {
    if (isSlackError(thrown, ["refused", "gone", "no_such_message"])) return false;
    throw thrown;
  }
}

/**
 * Deletes what a late post doubled, and takes the buttons off questions. It posts nothing: what was acknowledged and is gone was
 * deleted by someone.
 */
export async function cleanUpThread(request: Request): Promise<void> {
  const { task } = request;
  const found = await ownPosts(request);
  const plan = planOf(request, { found, asNew: true });
  const removed = new Set<string>();
  for (const action of plan) {
    if (action.type !== "remove") continue;
    await perform(request, action);
    removed.add(action.ts);
  }
  for (const post of found) if (!removed.has(post.ts)) await closeButtons(request, post);
  if (task.message.command) await removeOpenings(request);
}

/** The record holds the latest question alone; of an earlier one the text stays as Slack has it. */
async function closeButtons(request: Request, { ts, part, buttons }: OwnPost): Promise<void> {
  const { question } = request.task;
  if (buttons === undefined) return;
  if (question !== undefined && part === questionPart + question.index) await closeQuestion(request, ts);
  else await showOneOf(request, { ts, part, contents: [{ text: buttons.text }] });
}

async function closeQuestion(request: Request, ts: string): Promise<void> {
  const { task, text } = request;
  const { index = 0, expiresAtMs: nowMs = 0 } = task.question ?? {};
  const contents = [task, { ...task, mrkdwnFallback: true as const }].map((shown) =>
    text.question({ task: shown, nowMs }),
  );
  await showOneOf(request, { ts, part: questionPart + index, contents });
}

/** The message shows the first content that Slack takes. Where it takes none the message goes: its buttons would stay. */
async function showOneOf(
  request: Request,
  { ts, part, contents }: { ts: string; part: number; contents: readonly MessageContent[] },
): Promise<void> {
  const { slack, task, signal } = request;
  const { channel } = placeOf(task);
  const post = { installation: installationOf(task), channel, ts, key: { requestId: task.id, part }, signal };
  for (const content of contents) {
    try {
      return await slack.update({ ...post, content });
    } catch (thrown) {
      if (isSlackError(thrown, ["no_such_message"])) return;
      if (!isSlackError(thrown, ["refused", "gone"])) throw thrown;
    }
  }
  // Where nobody may post, one may still be allowed to delete.
  await removeIn(request, { channel, ts }).catch((thrown: unknown) => {
    if (!isSlackError(thrown, ["gone"])) throw thrown;
  });
}

/** A command's thread is opened once; a post that was answered late may have opened another one. */
async function removeOpenings(request: Request): Promise<void> {
  const { message, place } = request.task;
  for (const channel of new Set([message.channel, place?.channel ?? message.channel])) {
    for (const ts of await openings(request, channel)) {
      const isOwn = channel === place?.channel && ts === place.threadTs;
      if (!isOwn) await removeIn(request, { channel, ts });
    }
  }
}

function planOf({ task, text, nowMs }: Request, { found, asNew }: { found: readonly OwnPost[]; asNew: boolean }) {
  const hasFiles = uploadsOf(task).length > 0;
  const isRevised = task.delivery?.rewriteParts === true;
  const isStreamLatest = isStreamRecent({ task, nowMs });
  // Where the last words are not there, what is there of the answer stays.
  const hasLastText = hasFailedDelivery(task) && found.some(({ part }) => part === insteadPart);
  const parts = text.parts(hasLastText ? task : { ...task, delivery: undefined });
  const firstPart = hasLastText ? insteadPart : firstPartOf(task);
  const recorded = recordedPosts(task);
  return planDelivery({ parts, firstPart, found, recorded, asNew, hasFiles, isStreamLatest, isRevised });
}

/** An edit of the placeholder would go unnoticed, stand above a question, or be undone by one that is still on its way. */
function isNew({ task: { placeholder, question, progress }, nowMs }: Request): boolean {
  const isLate = placeholder !== undefined && nowMs - placeholder.postedAtMs > editNotifiesNobodyAfterMs;
  return isLate || question !== undefined || progress?.inDoubt === true;
}

/** Nothing was asked below it, and it grew within the last minute. */
function isStreamRecent({ task: { question, progress }, nowMs }: { task: Task; nowMs: number }): boolean {
  if (progress === undefined) return question === undefined;
  return nowMs - progress.shownAtMs <= editNotifiesNobodyAfterMs;
}

/** What Slack did not take must not be taken for a part of what stands instead of it. */
function firstPartOf({ outcome, mrkdwnFallback }: Task): number {
  if (outcome?.type === "failed" && outcome.insteadOfAnswer) return insteadPart;
  return mrkdwnFallback ? plainPart : answerPart;
}

function recordedPosts({ placeholder, question }: Task): string[] {
  return [placeholder?.ts, question?.ts].filter((ts) => ts !== undefined);
}

/** Slack edits no message that is still being streamed. Where it cannot be stopped, the edit fails, and it is posted anew. */
async function closeStream({ slack, task, signal }: Request, ts: string): Promise<void> {
  const { channel } = placeOf(task);
  const call = { installation: installationOf(task), channel, requestId: task.id, signal };
  await unlessGone(slack.stopStream({ ...call, ts }));
}

async function perform(request: Request, action: Exclude<DeliveryAction, { type: "share" }>): Promise<void> {
  const { slack, task, signal } = request;
  const installation = installationOf(task);
  const { channel, threadTs } = placeOf(task);
  if (action.type === "remove") return removeIn(request, { channel, ts: action.ts });
  const { part, content } = action;
  const post = { installation, channel, content, key: { requestId: task.id, part }, signal };
  if (action.type === "update") {
    try {
      return await slack.update({ ...post, ts: action.ts });
    } catch (thrown) {
      if (!isSlackError(thrown, ["no_such_message", "refused"])) throw thrown;
      // Where an edit is impossible it is posted anew, and what could not be edited goes.
      await slack.post({ ...post, threadTs });
      return removeIn(request, { channel, ts: action.ts });
    }
  }
  await slack.post({ ...post, threadTs });
}

/** Some workspaces let nobody delete: then the message loses its buttons, and says that it is no answer. */
async function removeIn(request: Request, { channel, ts }: { channel: string; ts: string }): Promise<void> {
  const { slack, task, text, signal } = request;
  const installation = installationOf(task);
  try {
    await slack.remove({ installation, channel, ts, requestId: task.id, signal });
  } catch (thrown) {
    if (!isSlackError(thrown, ["no_such_message", "refused"])) throw thrown;
    if (thrown instanceof SlackError && thrown.slackError === "message_not_found") return;
    const key = { requestId: task.id, part: replacedPart };
    await unlessGone(slack.update({ installation, channel, ts, content: text.replaced(task), key, signal }));
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
 * What is done when the outcome is there. Where it fails, the next try of the delivery looks first what is there; where Slack
 * does not let us look, that try would post the outcome again: then the rest is the cleanup's.
 */
async function tidy(request: Request, change: Promise<void>): Promise<void> {
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

type OpenRequest = { slack: SlackApi; task: Task; text: TaskText; signal: AbortSignal };

/** Slack's clock and ours may differ by so much. */
const skewSeconds = 300;

/**
 * Gives a slash command a thread: a message that says who asked what. Where the bot may not post in the channel, the person gets it
 * directly. Rejects with a SlackError.
 */
export async function openThread(
  request: OpenRequest & { privately: boolean; reconcile: boolean },
): Promise<{ channel: string; threadTs: string }> {
  const { task, privately, reconcile } = request;
  // Whatever it was to be: where it was opened it goes on.
  const [earlier] = reconcile ? await openings(request, task.message.channel) : [];
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
  request: OpenRequest & { reconcile: boolean },
  channel: string,
): Promise<{ channel: string; threadTs: string }> {
  const { slack, task, text, reconcile, signal } = request;
  const [earlier] = reconcile ? await openings(request, channel) : [];
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
async function openings({ slack, task, signal }: OpenRequest, channel: string): Promise<string[]> {
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
