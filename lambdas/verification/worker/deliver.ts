/** The acts that bring the answer into the thread: deliver it, and two minutes later look once more. */
import type { SlackApi } from "../slack/slack.ts";
import { type Task, threadOf } from "../task/task.ts";
import { type DeliveryAction, planDelivery } from "./delivery-plan.ts";
import { isSlackError, knownPosts, ownPosts, ownPostsOrKnown } from "./own-posts.ts";
import { react } from "./react.ts";

/** The words for a task: pure, so that every try at the delivery says the same. */
export type AnswerText = {
  placeholder(task: Task): string;
  /** The answer in parts that Slack takes, at least one. */
  parts(task: Task): string[];
};

/** An edit notifies nobody: what took longer is a new message. */
const editNotifiesNobodyAfterMs = 60_000;

type DeliverRequest = { slack: SlackApi; task: Task; answerText: AnswerText; signal: AbortSignal };

/** With `heal` an earlier try may have left posts behind: they are looked up by their metadata first. */
export async function deliver(request: DeliverRequest & { heal: boolean; nowMs: number }): Promise<void> {
  const { task, heal, answerText, nowMs } = request;
  const found = heal ? await ownPostsOrKnown(request) : knownPosts(task);
  const asNew = task.announcedAtMs !== undefined && nowMs - task.announcedAtMs > editNotifiesNobodyAfterMs;
  const plan = planDelivery({ parts: answerText.parts(task), firstPart: firstPartOf(task), found, asNew });
  for (const action of plan) await perform(request, action);
  if (task.placeholderTs !== undefined) await react({ ...request, present: false });
}

/** Deletes what a late post doubled. It posts nothing: what was acknowledged and is gone was deleted by someone. */
export async function sweep(request: DeliverRequest): Promise<void> {
  const found = await ownPosts(request);
  const { answerText, task } = request;
  const plan = planDelivery({ parts: answerText.parts(task), firstPart: firstPartOf(task), found, asNew: true });
  for (const action of plan) if (action.type === "remove") await perform(request, action);
}

/** Words instead of an answer must not be taken for a part of it. */
function firstPartOf({ outcome }: Task): number {
  return outcome?.type === "failed" && outcome.insteadOfAnswer ? 1001 : 1;
}

async function perform(request: DeliverRequest, action: DeliveryAction): Promise<void> {
  const { slack, task, signal } = request;
  const { channel } = task.message;
  if (action.type === "remove") return unlessGone(slack.remove({ channel, ts: action.ts, requestId: task.id, signal }));
  const { part, text } = action;
  const post = { channel, text, key: { requestId: task.id, part }, signal };
  if (action.type === "update") {
    try {
      return await slack.update({ ...post, ts: action.ts });
    } catch (thrown) {
      if (!isSlackError(thrown, ["no_such_message", "refused"])) throw thrown;
      // Where an edit is impossible it is posted anew, and what could not be edited goes.
      await slack.post({ ...post, threadTs: threadOf(task.message) });
      return unlessGone(slack.remove({ channel, ts: action.ts, requestId: task.id, signal }));
    }
  }
  await slack.post({ ...post, threadTs: threadOf(task.message) });
}

async function unlessGone(removal: Promise<void>): Promise<void> {
  try {
    await removal;
  } catch (thrown) {
    if (!isSlackError(thrown, ["no_such_message", "refused"])) throw thrown;
  }
}
