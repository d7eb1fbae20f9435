/** Runs the acts that the task machine asks for. Each act talks to one service and returns one event. */

import type { ExecuteTaskParams } from "../../../contracts/methods.ts";
import { abortable } from "../../shared/async/waiting.ts";
import type { WorkerDestination } from "../destinations.ts";
import { createConcurrencyLimit } from "../files/concurrency-limit.ts";
import { FileRefused, type Files } from "../files/files.ts";
import type { Gate } from "../gate/gate.ts";
import { type MessageContent, type SlackApi, SlackError } from "../slack/api/slack.ts";
import { readUserText } from "../slack/api/user-text.ts";
import { answerPart, placeholderPart } from "../slack/messages/blocks.ts";
import type { TaskText } from "../slack/messages/task-text.ts";
import { createThreadHistory } from "../slack/messages/thread-history.ts";
import type { Act, Context, TaskEvent } from "../task/events.ts";
import { installationOf, type Task, type TaskOutcome, threadRefOf } from "../task/task.ts";
import { maxContextTries } from "../task/unsent.ts";
import type { UsageHistory } from "../usage/entry.ts";
import { createCallRunner, type ExecutionCall } from "./calls.ts";
import { cleanUpThread, deliver, openThread } from "./deliver.ts";
import { type Indicators, isSlackError, markReceived, messagesFromTask, ownPostsOrKnown } from "./own-posts.ts";
import type { Notify } from "./questions.ts";
import { askQuestion, type Questions, showQuestion } from "./questions.ts";
import { type ActRequest, causeKindOf, isDataFailure, pureStep, type RunAct } from "./run-step.ts";
import { showProgress } from "./show-progress.ts";
import type { Threads } from "./threads.ts";

export type ActOptions = {
  slack: SlackApi;
  gate: Gate;
  notify: Notify;
  files: Files;
  text: TaskText;
  threads: Threads;
  usageHistory: UsageHistory;
  /** By request id. */
  taskOf: (requestId: string) => Promise<Task | undefined>;
  questions: Questions;
  indicators: Indicators;
  /** Show an answer as it is written in a native stream of Slack. */
  streaming: boolean;
  destinations: ReadonlyMap<string, WorkerDestination>;
  newId: () => string;
  now?: () => number;
};

export function createRunAct({ now = Date.now, ...options }: ActOptions): RunAct {
  const { slack, gate, notify, files, text, threads, usageHistory, taskOf } = options;
  const { questions, indicators, streaming, destinations, newId } = options;
  const calls = createCallRunner({ destinations, newId, now });

  async function perform({ act, task, signal }: ActRequest): Promise<TaskEvent> {
    if (isCall(act)) return calls.run({ act, task, signal });
    const request = { slack, task, text, indicators, signal };
    switch (act.type) {
      case "permit":
        return {
          type: "permitted",
          ...(await gate.permit({ message: task.message, requestId: task.id, signal })),
          nowMs: now(),
        };
      case "refuse":
        await postRefusalOnce({ ...request, notify });
        return { type: "refusal_shown" };
      case "give_reply":
        return questions.giveFromThread({ task, reconcile: act.reconcile, signal });
      case "charge":
        return { type: "charged", over: await gate.charge({ task, untilMs: act.untilMs }) };
      case "open_thread":
        return {
          type: "thread_opened",
          threadRef: await openThread({ ...request, privately: act.privately, reconcile: act.reconcile }),
        };
      case "join_thread": {
        const position = await threads.joinThread({ task, turnMs: act.turnMs, parallel: act.parallel });
        return position === undefined ? { type: "thread_full" } : { type: "thread_joined", nowMs: now(), ...position };
      }
      case "leave_thread":
        await gate.release({ task });
        await threads.leave({ task });
        await usageHistory.note({ task });
        return { type: "thread_left" };
      case "cancel_thread":
        return { type: "thread_canceled", ...(await cancelThread({ task, signal })) };
      case "read_message":
        return { type: "message_read", nowMs: now(), text: await readMessageText(request) };
      case "announce":
        return { type: "announced", ts: await announceTask({ ...request, reconcile: act.reconcile }), nowMs: now() };
      case "prepare":
        return { type: "prepared", context: await prepare({ ...request, files }) };
      case "show_progress":
        return { type: "progress_shown", shown: await showProgress({ ...request, streaming, now }), nowMs: now() };
      case "hold_thread":
        await threads.hold({ task, untilMs: act.untilMs });
        return { type: "thread_held" };
      case "ask_question":
        return {
          type: "question_asked",
          ts: await askQuestion({ ...request, reconcile: act.reconcile, nowMs: now() }),
          nowMs: now(),
        };
      case "show_question":
        await showQuestion({ ...request, nowMs: now() });
        return { type: "question_shown", nowMs: now() };
      case "upload":
        return { type: "uploaded", index: act.index, ...(await files.upload({ task, index: act.index, signal })) };
      case "deliver":
        return { type: await deliver({ ...request, reconcile: act.reconcile, nowMs: now() }) };
      case "clean_up":
        await cleanUpThread({ ...request, nowMs: now() });
        return { type: "cleaned_up" };
    }
  }

  /** Cancels only those tasks of the thread that the person may cancel. */
  function cancelThread({ task, signal }: { task: Task; signal: AbortSignal }) {
    const { user } = task.message;
    const mayCancel = async (id: string) => {
      const other = await taskOf(id);
      return other !== undefined && gate.mayCancel({ task: other, user, signal });
    };
    return threads.cancelAll({ task, mayCancel });
  }

  const runAct = async (request: ActRequest): Promise<TaskEvent> => {
    const { act } = request;
    try {
      return await perform(request);
    } catch (thrown) {
      if (thrown instanceof SlackError) {
        const { kind, retryAfterMs } = thrown;
        return { type: "slack_failed", nowMs: now(), act: act.type, kind, retryAfterMs };
      }
      if (isDataFailure(thrown)) return { type: "step_failed", nowMs: now(), causeKind: causeKindOf(thrown) };
      if (!(thrown instanceof FileRefused)) throw thrown;
      if (act.type === "upload") return { type: "uploaded", index: act.index, fileId: undefined };
      return { type: "file_refused", outcome: thrown.outcome };
    }
  };
  return Object.assign(runAct, { stopSession: calls.stopSession });
}

function isCall(act: Act): act is ExecutionCall {
  return act.type === "send" || act.type === "poll" || act.type === "answer" || act.type === "cancel";
}

/**
 * Tells the user that the task is under way, by a placeholder in the thread and a reaction on the message. Resolves to the placeholder's
 * `ts`. With `reconcile` a placeholder that an earlier try posted is found.
 */
export async function announceTask(request: {
  slack: SlackApi;
  task: Task;
  reconcile: boolean;
  text: TaskText;
  indicators: Indicators;
  signal: AbortSignal;
}): Promise<string> {
  const { slack, task, reconcile, text, signal } = request;
  if (reconcile) {
    const [earlier] = (await ownPostsOrKnown(request)).filter(({ part }) => part === placeholderPart);
    if (earlier !== undefined) return earlier.ts;
  }
  const posted = await slack.post({
    installation: installationOf(task),
    ...threadRefOf(task),
    content: text.placeholder(task),
    key: { requestId: task.id, part: placeholderPart },
    signal,
  });
  await markReceived({ ...request, status: text.status(task) });
  return posted.ts;
}

type PrepareRequest = { slack: SlackApi; files: Files; task: Task; signal: AbortSignal };

/**
 * Gathers the thread's history and the message's files. Rejects with a SlackError where a later try may succeed, or with a
 * FileRefused.
 */
async function prepare(request: PrepareRequest): Promise<Context> {
  const { files, task, signal } = request;
  const { threadTs, command, files: asked = [] } = task.message;
  const attachments = asked.length > 0 ? await files.importAttachments({ task, signal }) : [];
  const history = threadTs !== undefined && !command ? await readHistory(request) : [];
  return { attachments, history };
}

/** A thread that the bot may not read has no history, and the task goes on without one. */
async function readHistory({
  slack,
  task,
  signal,
}: PrepareRequest): Promise<NonNullable<ExecuteTaskParams["history"]>> {
  const { message, id: requestId } = task;
  const threadRef = threadRefOf(task);
  const whole = {
    installation: installationOf(task),
    ...threadRef,
    oldestTs: threadRef.threadTs,
    appId: message.appId,
  };
  try {
    const messages = await slack.replies({ ...whole, requestId, signal });
    return pureStep(() => createThreadHistory({ messages, message }));
  } catch (thrown) {
    const isLastTry = task.attempts + 1 >= maxContextTries;
    if (isLastTry || isSlackError(thrown, ["gone", "refused"])) return [];
    throw thrown;
  }
}

/**
 * The text of a message that an operator wants tried again: read anew from Slack, since it is kept nowhere. Undefined where the
 * message is gone. Rejects with a SlackError.
 */
export async function readMessageText(request: {
  slack: SlackApi;
  task: Task;
  signal: AbortSignal;
}): Promise<string | undefined> {
  const { ts, botUsers = [] } = request.task.message;
  const messages = await messagesFromTask(request);
  const message = messages.find((candidate) => candidate.ts === ts);
  // Its files are not known any more, and without them it would be another message.
  if (message === undefined || message.fileIds.length > 0) return undefined;
  return readUserText({ text: message.text, botUsers });
}

/** The longest that a worker waits for Slack to take a notice. */
const noticeTimeoutMs = 5000;
/**
 * The most notices that one process sends to Slack at once, so that other workers stay free for answers where Slack is slow or limits us.
 * People who may not ask have a separate limit of the same size, so that they cannot keep notices from others.
 */
const maxNoticesAtOnce = 4;

/** Creates the function that tells a person privately that something was not done, within the limits of `gate/refusals.ts`. */
export function createNotify({ gate }: { gate: Pick<Gate, "isStranger" | "mayRefuse"> }): Notify {
  const allowed = createConcurrencyLimit({ max: maxNoticesAtOnce });
  let strangers = 0;

  /** Drops a stranger's notice at the limit. A notice for anybody else waits. */
  async function send({ post, ...notice }: Parameters<Notify>[0]): Promise<void> {
    const { signal } = notice;
    const isStranger = await gate.isStranger(notice);
    signal.throwIfAborted();
    const postIfDue = async () => {
      if (await gate.mayRefuse({ ...notice, isStranger })) await post(signal);
    };
    const work = () => abortable({ promise: postIfDue(), signal });
    if (!isStranger) return allowed.take({ signal, work });
    if (strangers >= maxNoticesAtOnce) return;
    strangers += 1;
    await work().finally(() => {
      strangers -= 1;
    });
  }

  return async (notice) => {
    const deadline = AbortSignal.timeout(noticeTimeoutMs);
    const signal = AbortSignal.any([notice.signal, deadline]);
    try {
      await abortable({ promise: send({ ...notice, signal }), signal });
    } catch (thrown) {
      if (!(thrown instanceof SlackError) && !deadline.aborted) throw thrown;
    }
  };
}

type RefuseRequest = { slack: SlackApi; notify: Notify; task: Task; text: TaskText; signal: AbortSignal };

/** Tells the writer of a message that was refused why. */
export async function postRefusalOnce({ slack, notify, task, text, signal }: RefuseRequest): Promise<void> {
  const { user, threadTs } = task.message;
  const [content] = text.parts(task);
  if (content === undefined || task.outcome === undefined) return;
  const post = (deadline: AbortSignal) => postRefusal({ slack, task, content, signal: deadline });
  await notify({ task, user, kind: kindOf(task.outcome), threadTs, signal, post });
}

async function postRefusal({
  slack,
  task,
  content,
  signal,
}: {
  slack: SlackApi;
  task: Task;
  content: MessageContent;
  signal: AbortSignal;
}): Promise<void> {
  const { user, channel, direct, threadTs, command, unaddressed } = task.message;
  const call = { installation: installationOf(task), requestId: task.id, signal };
  const post = (target: { channel: string; threadTs: string | undefined }) =>
    slack.post({
      ...{ installation: call.installation, signal, content, ...target },
      key: { requestId: task.id, part: answerPart },
    });
  if (direct) {
    await post({ channel, threadTs: command ? undefined : threadRefOf(task).threadTs });
    return;
  }
  try {
    // Slack does not show an ephemeral message in a thread that has no reply yet.
    await slack.postEphemeral({ ...call, channel, threadTs, user, text: content.text });
  } catch (thrown) {
    // The bot is not in the channel, or the person is not.
    if (unaddressed || !isSlackError(thrown, ["gone", "refused"])) throw thrown;
    await post({ ...(await slack.openDirect({ ...call, user })), threadTs: undefined });
  }
}

/** The kind of a refusal, of which each is shown once within the window of `gate/refusals.ts`. */
function kindOf(outcome: TaskOutcome): string {
  if (outcome.type === "failed") return outcome.reason;
  if (outcome.type !== "limited") return outcome.type;
  return `limited_by_${outcome.by}${outcome.retryAtMs === undefined ? "_at_once" : ""}`;
}
