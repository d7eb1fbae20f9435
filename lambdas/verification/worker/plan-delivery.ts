/** Plans the changes of a thread after which it shows a task's outcome exactly once. Pure: it reads no thread and calls no service. */

import { isOutcome, isSamePost, type OutcomeKind, type PostId } from "../slack/api/post-keys.ts";
import type { MessageContent } from "../slack/api/slack.ts";
import type { TaskText } from "../slack/messages/task-text.ts";
import { hasFailedDelivery, type Task, threadRefOf } from "../task/task.ts";
import { filesId, type OwnPost, placeholderId, questionIdOf, uploadedIdsOf } from "./own-posts.ts";

/** After this time the answer is a new message, because Slack sends no notification for an edit of the placeholder. */
const editNotifiesNobodyAfterMs = 60_000;

/** A message in any channel. An opening may be in another one than the thread. */
export type MessageRef = { channel: string; ts: string };

export type ThreadAction =
  /** Slack refuses edits of a message that is still streaming. */
  | { type: "stop_stream"; ts: string }
  | ({ type: "post"; content: MessageContent } & PostId)
  | ({ type: "update"; ts: string; content: MessageContent } & PostId)
  | ({ type: "remove" } & MessageRef)
  /** Edits the message to the first of the contents that Slack accepts. */
  | ({ type: "remove_buttons"; ts: string; contents: readonly MessageContent[] } & PostId);

/** `posting` comes first, then the files, then `tidying`. The thread shows the outcome once it has the posts, and the files if they are due. */
type DeliveryPlan = { posting: ThreadAction[]; isShareDue: boolean; tidying: ThreadAction[] };

/** `posts` are the task's own posts, oldest first. */
type PlanRequest = { task: Task; text: TaskText; nowMs: number; posts: readonly OwnPost[] };

/**
 * Plans to show the outcome. The first part is an edit of the stream, or else of the placeholder. If an edit would go unnoticed, it is a new
 * post, and the placeholder is removed last so that the thread is never empty. A post with a part's key has that part's content already.
 */
export function planDelivery(request: PlanRequest): DeliveryPlan {
  const { task, posts } = request;
  const kind = outcomeKindOf(task);
  const contents = renderOutcome(request);
  const wanted = { kind, count: contents.length, isNew: isNew(request) };
  const { find, editTarget, surplus } = assignPosts(request, wanted);
  const parts = contents.flatMap((content, index): ThreadAction[] => {
    const part = { kind, index, content };
    const post = find(part);
    if (post !== undefined)
      return task.delivery?.rewriteParts ? [{ type: "update", ts: post.ts, ...part }] : [];
    return index === 0 && editTarget !== undefined
      ? [{ type: "update", ts: editTarget.ts, ...part }]
      : [{ type: "post", ...part }];
  });
  const { question } = task;
  const { ts } = question?.ts === undefined ? (find(questionIdOf(task)) ?? {}) : question;
  return {
    posting: [
      ...posts.filter(isStream).map(({ ts }): ThreadAction => ({ type: "stop_stream", ts })),
      ...parts,
    ],
    isShareDue: uploadedIdsOf(task).length > 0 && find(filesId) === undefined,
    tidying: [
      ...toRemovals(task, surplus),
      // The task is over, so the question's buttons go.
      ...(ts !== undefined && hasQuestionText(task) ? [closeQuestion(request, ts)] : []),
    ],
  };
}

/**
 * Plans to delete duplicates that arrived late, and to remove the buttons of questions. It posts nothing, because a confirmed post that is
 * missing was deleted by a person.
 */
export function planCleanup(
  request: PlanRequest & { surplusOpenings: readonly MessageRef[] },
): ThreadAction[] {
  const { task, posts, surplusOpenings } = request;
  // If the failure notice is not in the thread, the parts of the answer stay.
  const isNoticed = hasFailedDelivery(task) && hasNotice(posts);
  const kind = isNoticed ? "own_text" : outcomeKindOf(task);
  // Every outcome has a first part, so its text is not rendered again to find out that this one stays.
  const hasFurtherParts = posts.some((post) => post.kind === kind && post.index > 0);
  const count = isNoticed || !hasFurtherParts ? 1 : renderOutcome(request).length;
  const { surplus } = assignPosts(request, { kind, count, isNew: true });
  const removals = toRemovals(task, surplus);
  const removed = new Set(removals.map(({ ts }) => ts));
  return [
    ...removals,
    ...posts
      .filter(({ ts }) => !removed.has(ts))
      .flatMap((post) => planButtonRemoval(request, post)),
    ...surplusOpenings.map((opening): ThreadAction => ({ type: "remove", ...opening })),
  ];
}

/** Plans to post one plain text, unless the thread shows the whole outcome because only a later change had failed, or shows that text. */
export function planFailureNotice(request: PlanRequest): ThreadAction[] {
  const { task, text, posts } = request;
  const { posting, isShareDue } = planDelivery(request);
  const isWhole = !isShareDue && posting.every(({ type }) => type === "stop_stream");
  const [content] = text.parts(task);
  return isWhole || hasNotice(posts) || content === undefined
    ? []
    : [{ type: "post", ...noticeId, content }];
}

const noticeId = { kind: "own_text", index: 0 } as const;

/** Further texts of this kind are parts of an outcome, and say nothing without the first one. */
function hasNotice(posts: readonly OwnPost[]): boolean {
  return posts.some((post) => isSamePost(post, noticeId));
}

/** Returns the outcome's parts, and not the notice that replaces them after Slack has refused every try. */
function renderOutcome({ task, text }: PlanRequest): MessageContent[] {
  return text.parts({ ...task, delivery: undefined });
}

/**
 * Finds the posts that stay, by their keys, the message that becomes the first part, and the posts that go: parts of another outcome, all
 * but the recorded or else the earliest post of each key, and what showed that the task was under way. Questions and openings are no parts
 * of an outcome, so only their duplicates go.
 */
function assignPosts(
  request: PlanRequest,
  { kind, count, isNew }: { kind: OutcomeKind; count: number; isNew: boolean },
) {
  const { task, posts } = request;
  const recordedTs = [task.placeholder?.ts, task.question?.ts];
  const isRecorded = ({ ts }: OwnPost) => recordedTs.includes(ts);
  const keptPosts: OwnPost[] = [];
  const surplus: OwnPost[] = [];
  const find = (id: PostId) => keptPosts.find((post) => isSamePost(post, id));
  for (const post of [...posts].sort((a, b) => Number(isRecorded(b)) - Number(isRecorded(a)))) {
    if (isStream(post)) continue;
    const isWanted = !isOutcome(post) || (post.kind === kind && post.index < count);
    if (isWanted && find(post) === undefined) keptPosts.push(post);
    else surplus.push(post);
  }
  const streams = posts.filter(isStream);
  const placeholder = find(placeholderId);
  const latestStream = isStreamRecent(request) ? streams.at(-1) : undefined;
  const editable = latestStream ?? (isNew || streams.length > 0 ? undefined : placeholder);
  const editTarget = find({ kind, index: 0 }) === undefined ? editable : undefined;
  const endedMessages = [...streams, ...(placeholder === undefined ? [] : [placeholder])];
  return {
    find,
    editTarget,
    surplus: [...surplus, ...endedMessages.filter((post) => post !== editTarget)],
  };
}

function isStream({ kind }: OwnPost): boolean {
  return kind === "stream";
}

function toRemovals(task: Task, posts: readonly OwnPost[]) {
  const { channel } = threadRefOf(task);
  return posts.map(({ ts }) => ({ type: "remove" as const, channel, ts }));
}

/** The button to try a failed task again stays. The record has the latest question only, so an earlier one keeps its text from Slack. */
function planButtonRemoval(request: PlanRequest, post: OwnPost): ThreadAction[] {
  const { task } = request;
  const { ts, kind, index, buttons } = post;
  if (buttons === undefined || isOutcome(post)) return [];
  return hasQuestionText(task) && isSamePost(post, questionIdOf(task))
    ? [closeQuestion(request, ts)]
    : [{ type: "remove_buttons", ts, kind, index, contents: [{ text: buttons.text }] }];
}

/** False after the cleanup has erased the texts. A redrive then leaves the question in the thread as it is. */
function hasQuestionText({ question, textsErased }: Task): boolean {
  return question !== undefined && !textsErased;
}

function closeQuestion({ task, text }: PlanRequest, ts: string) {
  const nowMs = task.question?.expiresAtMs ?? 0;
  const contents = [task, { ...task, mrkdwnFallback: true as const }].map((form) =>
    text.question({ task: form, nowMs }),
  );
  return { type: "remove_buttons", ...questionIdOf(task), ts, contents } as const;
}

/** True if the answer must be a new message. An edit of the placeholder could go unnoticed, be above a question, or be overwritten late. */
function isNew({ task: { placeholder, question, progress }, nowMs }: PlanRequest): boolean {
  const isLate =
    placeholder !== undefined && nowMs - placeholder.postedAtMs > editNotifiesNobodyAfterMs;
  return isLate || question !== undefined || progress?.inDoubt === true;
}

/** True if the stream is the newest post: there is no question below it, and it grew within the last minute. */
function isStreamRecent({ task: { question, progress, stream }, nowMs }: PlanRequest): boolean {
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
