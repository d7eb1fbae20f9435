/** Shows an agent's questions, and stores a person's reply in the task's record by compare-and-set, so that the first reply counts. */

import type { TaskQueue, TaskStore } from "@sekisho/runtime/engine/ports.ts";
import { type Actor, actorOf } from "../gate/border.ts";
import type { Gate } from "../gate/gate.ts";
import { isSamePost } from "../slack/api/post-keys.ts";
import type { SlackApi } from "../slack/api/slack.ts";
import type { TaskText } from "../slack/messages/task-text.ts";
import { isWrittenAfter, type ReplyRefusal, takeAnswer } from "../task/asking.ts";
import { encodeQueueMessage } from "../task/encode-message.ts";
import type { TaskEvent } from "../task/events.ts";
import {
  type Approval,
  type GivenAnswer,
  installationOf,
  queueGroupOf,
  type Task,
  threadRefOf,
} from "../task/task.ts";
import { type Indicators, markReplyTaken } from "./indicators.ts";
import { questionIdOf, readOwnPostsOrRecorded } from "./own-posts.ts";
import type { Threads } from "./threads.ts";

type Notice = {
  task: Task;
  actor: Actor;
  kind: string;
  threadTs: string | undefined;
  signal: AbortSignal;
};

/** Calls `post` if the limits on notices allow it now. Ignores a failure of Slack. Rejects for other failures. */
export type Notify = (
  notice: Notice & { post: (signal: AbortSignal) => Promise<void> },
) => Promise<void>;

type Reply = Omit<GivenAnswer, "callId">;
export type ReplyResult =
  | { type: "taken" }
  | { type: "not_yours" }
  | { type: "says_nothing" }
  /** A worker acts on the task. */
  | { type: "held" }
  | ReplyRefusal;

/**
 * The delay of a reply or a click that meets a held lease. It grows with the waiting time, in case the worker has died, up to a minute
 * for waits of minutes, such as an outage of Slack.
 */
export function heldDelayMs(sinceMs: number): number {
  return Math.max(500, Math.min(sinceMs, 15_000), Math.min(sinceMs / 5, 60_000));
}

export type Questions = {
  /**
   * Gives the reply to the task. `index` is the question whose button was clicked. `saidTs` is the `ts` of the message that may be the
   * reply. `held`: a worker acts on the task, so try again soon.
   */
  give(request: {
    requestId: string;
    index?: number;
    saidTs?: string;
    answer: Reply;
    /** The workspace that Slack names for the person who replies. */
    userTeam: Actor["userTeam"];
    signal: AbortSignal;
  }): Promise<ReplyResult>;
  /** Gives the message as a reply, if its thread waits for one. `reconcile`: an earlier try may have given it. */
  giveFromThread(request: {
    task: Task;
    reconcile: boolean;
    signal: AbortSignal;
  }): Promise<TaskEvent>;
};

/** Far more than the number of workers that write one record at once. */
const maxAttempts = 20;

// biome-ignore lint/complexity/noExcessiveLinesPerFunction: listed until it is cut along its topics.
export function createQuestions(options: {
  store: Pick<TaskStore<Task>, "replace">;
  /** By request id. Resolves to undefined also if the record cannot be read. */
  taskOf: (requestId: string) => Promise<Task | undefined>;
  queue: TaskQueue;
  threads: Threads;
  gate: Gate;
  notify: Notify;
  slack: SlackApi;
  text: TaskText;
  indicators: Indicators;
  newId: () => string;
  now: () => number;
}): Questions {
  const { store, taskOf, queue, threads, gate, notify, slack, text, indicators, newId, now } =
    options;
  async function give(request: Parameters<Questions["give"]>[0]): Promise<ReplyResult> {
    const { requestId, index, saidTs, answer, userTeam, signal } = request;
    for (let attempt = 0; attempt < maxAttempts; attempt++) {
      const task = await taskOf(requestId);
      if (task === undefined) return { type: "over" };
      if (isRepeated({ task, index, answer })) return { type: "taken" };
      // The question is not posted yet, so it is unknown whether the message was written after it.
      if (saidTs !== undefined && isOpen(task) && task.question?.ts === undefined)
        return { type: "held" };
      // The message was written before the question was posted.
      if (saidTs !== undefined && task.question && !isWrittenAfter(task.question, saidTs))
        return { type: "past" };
      const nowMs = now();
      const target = index === undefined ? {} : { index };
      const change = takeAnswer({ task, ...target, answer: { ...answer, callId: newId() }, nowMs });
      const refusal = "notTaken" in change ? change.notTaken : undefined;
      if (refusal !== undefined && refusal.type !== "use_buttons") return refusal;
      if (isEmpty(answer)) return { type: "says_nothing" };
      const person = await gate.identify({ task, actor: { user: answer.user, userTeam }, signal });
      if (!(await gate.mayAnswer({ task, person, signal }))) return { type: "not_yours" };
      if ("notTaken" in change) return change.notTaken;
      if (change.task === task) return { type: "taken" };
      if (task.lease !== undefined && task.lease.untilMs > nowMs) return { type: "held" };
      // The wake-up is sent first, as in every step, so that no stored answer is left without one.
      const seq = task.wakeSeq + 1;
      await queue.send({
        body: encodeQueueMessage({ type: "wake", requestId, seq }),
        group: queueGroupOf(task),
      });
      const { lease: _lease, ...item } = change.task;
      if ((await store.replace({ item: { ...item, wakeSeq: seq } })) !== undefined)
        return { type: "taken" };
    }
    return { type: "held" };
  }

  async function giveFromThread(
    request: Parameters<Questions["giveFromThread"]>[0],
  ): Promise<TaskEvent> {
    const { task, reconcile, signal } = request;
    const { message, id: from } = task;
    const answer: Reply = { user: message.user, atMs: now(), text: message.text, from };
    const toEvent = (
      decision: Extract<TaskEvent, { type: "reply_given" }>["decision"],
    ): TaskEvent => ({
      type: "reply_given",
      nowMs: now(),
      decision,
    });
    let isOthers = false;
    const asking = await threads.findAskingTasks({ task });
    const { userTeam } = actorOf(message);
    for (const requestId of reconcile ? [...asking.before, ...asking.now] : asking.now) {
      const result = await give({ requestId, saidTs: message.ts, answer, userTeam, signal });
      if (result.type === "held")
        return { type: "busy", delayMs: heldDelayMs(now() - task.receivedAtMs) };
      const isMeant = result.type === "taken" || result.type === "says_nothing";
      if (isMeant && message.files !== undefined)
        await notifyWriter({ task, refusal: { type: "files_left" }, signal });
      if (result.type === "says_nothing") return toEvent("says_nothing");
      if (result.type === "use_buttons") {
        await notifyWriter({ task, refusal: result, signal });
        return toEvent("use_buttons");
      }
      isOthers ||= result.type === "not_yours";
      if (result.type !== "taken") continue;
      await markReplyTaken({ slack, task, indicators, signal });
      return toEvent("taken");
    }
    return toEvent(isOthers ? "not_yours" : "none");
  }

  /** Tells the writer of a reply privately what of it does not count. Best effort, and limited. */
  async function notifyWriter({
    task,
    refusal,
    signal,
  }: {
    task: Task;
    refusal: { type: "files_left" | "use_buttons" };
    signal: AbortSignal;
  }): Promise<void> {
    const actor = actorOf(task.message);
    const { user } = actor;
    const notice = text.buttonClickRefused({ refusal, locale: task.locale });
    const threadRef = threadRefOf(task);
    const call = {
      installation: installationOf(task),
      ...threadRef,
      requestId: task.id,
      user,
      text: notice,
    };
    const post = (deadline: AbortSignal) => slack.postEphemeral({ ...call, signal: deadline });
    await notify({
      task,
      actor,
      kind: refusal.type,
      threadTs: threadRef.threadTs,
      signal,
      post,
    }).catch(() => {});
  }

  return { give, giveFromThread };
}

function isEmpty({ option, text, fields, signedIn }: Reply): boolean {
  return option === undefined && !text && fields === undefined && signedIn === undefined;
}

function isOpen({ state, question, cancelReason }: Task): boolean {
  return (
    state === "asking" &&
    question !== undefined &&
    question.answer === undefined &&
    cancelReason === undefined
  );
}

/** True if the same message or click came before. The queue delivers at least once, and a repetition must not answer the next question. */
function isRepeated({
  task,
  index,
  answer,
}: {
  task: Task;
  index: number | undefined;
  answer: Reply;
}): boolean {
  if (answer.from !== undefined) return task.answeredBy?.includes(answer.from) === true;
  const isApproval = (approval: Approval) =>
    approval.user === answer.user &&
    approval.atMs === answer.atMs &&
    approval.option === answer.option;
  if (index === task.question?.index && task.question?.approvals?.given.some(isApproval))
    return true;
  const reply = task.question?.answer;
  if (reply === undefined || index !== task.question?.index) return false;
  return reply.user === answer.user && reply.atMs === answer.atMs && reply.option === answer.option;
}

type Request = { slack: SlackApi; task: Task; text: TaskText; nowMs: number; signal: AbortSignal };

/** Posts the question with buttons, and resolves to its `ts`. With `reconcile` it first looks for one that an earlier try posted. */
export async function askQuestion(request: Request & { reconcile: boolean }): Promise<string> {
  const { slack, task, text, reconcile, nowMs, signal } = request;
  const earlierTs = reconcile ? await findQuestion(request) : undefined;
  if (earlierTs !== undefined) return earlierTs;
  const content = text.question({ task, nowMs });
  const key = { requestId: task.id, ...questionIdOf(task) };
  return (
    await slack.post({
      installation: installationOf(task),
      ...threadRefOf(task),
      content,
      key,
      signal,
    })
  ).ts;
}

/** Edits the question's message to show its state. Best effort, because the delivery repeats it and until then clicks are refused. */
export async function showQuestion({ slack, task, text, nowMs, signal }: Request): Promise<void> {
  try {
    // A worker may have died after it posted the question and before it saved the `ts`.
    const ts = task.question?.ts ?? (await findQuestion({ slack, task, signal }));
    if (ts === undefined) return;
    const target = { installation: installationOf(task), channel: threadRefOf(task).channel, ts };
    const key = { requestId: task.id, ...questionIdOf(task) };
    await slack.update({ ...target, content: text.question({ task, nowMs }), key, signal });
  } catch {}
}

/** Finds the `ts` of the question's earliest post. Rejects with a SlackError. */
async function findQuestion(
  request: Pick<Request, "slack" | "task" | "signal">,
): Promise<string | undefined> {
  const posts = await readOwnPostsOrRecorded(request);
  return posts.find((post) => isSamePost(post, questionIdOf(request.task)))?.ts;
}
