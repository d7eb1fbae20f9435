/** Runs the acts that the task machine returns. Each act calls one service and returns one event. */

import type { Config } from "@sekisho/config/schema.ts";
import { abortable } from "@sekisho/runtime/async/waiting.ts";
import type { WorkerDestination } from "../destinations.ts";
import { createConcurrencyLimit } from "../files/concurrency-limit.ts";
import { FetchTimedOut, FileRefused, type Files } from "../files/files.ts";
import { actorOf } from "../gate/border.ts";
import type { Gate } from "../gate/gate.ts";
import type { FindTaskContext } from "../lookups/task-context.ts";
import { type MessageContent, type SlackApi, SlackError } from "../slack/api/slack.ts";
import { answerPart, placeholderPart } from "../slack/messages/blocks.ts";
import { helpText } from "../slack/messages/help.ts";
import type { TaskText } from "../slack/messages/task-text.ts";
import { createThreadHistory, listThreadFiles } from "../slack/messages/thread-history.ts";
import { createDestinationSlots } from "../slots.ts";
import type { Act, Context, MessageRead, TaskEvent } from "../task/events.ts";
import { installationOf, type Task, type TaskOutcome, threadRefOf } from "../task/task.ts";
import { mayReadAnswer } from "../task/thread-route.ts";
import { isToBeReadAgain } from "../task/unsent.ts";
import { createCallRunner, type ExecutionCall } from "./calls.ts";
import { readConversation } from "./conversation.ts";
import { causeKindOf, isDataFailure, pureStep } from "./data-failures.ts";
import { cleanUpThread, deliver, hasLeftovers, openThread } from "./deliver.ts";
import { importFurther } from "./further-files.ts";
import {
  type Indicators,
  markAsking,
  markReceived,
  markWorking,
  renewStatus,
  settleSession,
} from "./indicators.ts";
import type { ReadOverview } from "./overview.ts";
import { isSlackError, messagesFromTask, ownPostsOrKnown } from "./own-posts.ts";
import type { Notify } from "./questions.ts";
import { askQuestion, type Questions, showQuestion } from "./questions.ts";
import type { ActRequest, ActResult, RunAct } from "./run-step.ts";
import { showProgress } from "./show-progress.ts";
import { createSlackPace } from "./slack-pace.ts";
import type { Threads } from "./threads.ts";
import { createInTransfer, type InTransfer, TransferBusy } from "./transfers.ts";

/** Settings that choose what else of the thread the agent gets, beside the words of people and its own answers. */
type ContextSettings = Pick<Config["slack"]["context"], "files" | "otherApps">;

export type ActOptions = {
  slack: SlackApi;
  gate: Gate;
  notify: Notify;
  files: Files;
  findTaskContext: FindTaskContext;
  contextSettings: ContextSettings;
  text: TaskText;
  threads: Threads;
  /** By request id. */
  taskOf: (requestId: string) => Promise<Task | undefined>;
  questions: Questions;
  readOverview: ReadOverview;
  indicators: Indicators;
  /** True if a partial answer is shown in a native Slack stream. */
  streaming: boolean;
  destinations: ReadonlyMap<string, WorkerDestination>;
  /** How many tasks the process handles at once. */
  slots: number;
  newId: () => string;
  now?: () => number;
  /** Aborts when the process stops. */
  stopping?: AbortSignal | undefined;
};

// biome-ignore lint/complexity/noExcessiveLinesPerFunction: listed until it is cut along its topics.
export function createRunAct({ now = Date.now, stopping, ...options }: ActOptions): RunAct {
  const { slack, gate, notify, files, findTaskContext, contextSettings, text, threads } = options;
  const { taskOf, questions, readOverview, indicators, streaming, destinations, slots, newId } =
    options;
  const slotsOf = createDestinationSlots({ destinations, slots, transfers: files.transfers, now });
  const inTransfer = createInTransfer(slotsOf);
  const calls = createCallRunner({ destinations, slotsOf, newId, now, stopping });
  const pace = createSlackPace({ now });

  // biome-ignore lint/complexity/noExcessiveLinesPerFunction: listed until it is cut along its topics.
  async function perform({
    act,
    task,
    signal,
  }: ActRequest & { act: Exclude<Act, LeaveThread> }): Promise<TaskEvent> {
    const request = { slack, task, text, indicators, signal };
    if (isCall(act)) {
      const call = calls.run({ act, task, signal });
      if (act.type === "poll") await renewStatus({ ...request, nowMs: now() });
      return call;
    }
    switch (act.type) {
      case "permit": {
        const permission = await gate.permit({ message: task.message, requestId: task.id, signal });
        return { type: "permitted", ...permission, nowMs: now() };
      }
      case "refuse":
        await postRefusalOnce({ ...request, notify });
        return { type: "refusal_shown" };
      case "give_reply":
        return questions.giveFromThread({ task, reconcile: act.reconcile, signal });
      case "charge":
        return { type: "charged", over: await gate.charge({ task, untilMs: act.untilMs }) };
      case "open_thread": {
        const threadRef = await openThread({
          ...request,
          privately: act.privately,
          reconcile: act.reconcile,
        });
        return { type: "thread_opened", threadRef };
      }
      case "join_thread": {
        const position = await threads.joinThread({ task });
        if (position === "full") return { type: "thread_full" };
        return position === "no_route"
          ? { type: position }
          : { type: "thread_joined", nowMs: now(), ...position };
      }
      case "cancel_thread":
        return { type: "thread_canceled", ...(await cancelThread({ task, signal })) };
      case "write_help": {
        const actor = actorOf(task.message);
        const person = { installation: installationOf(task), requestId: task.id, signal };
        const [overview, locale] = await Promise.all([
          readOverview({ ...person, actor }),
          gate.localeOf({ ...person, user: actor.user }),
        ]);
        return { type: "help_written", text: helpText({ overview, locale }) };
      }
      case "read_message":
        return { type: "message_read", nowMs: now(), ...(await readMessage(request)) };
      case "announce":
        return {
          type: "announced",
          ts: await announceTask({ ...request, reconcile: act.reconcile }),
          nowMs: now(),
        };
      case "prepare":
        return {
          type: "prepared",
          context: await prepare({
            ...request,
            act,
            files,
            findTaskContext,
            contextSettings,
            inTransfer,
            nowMs: now(),
          }),
        };
      case "show_progress":
        return {
          type: "progress_shown",
          shown: await showProgress({ ...request, streaming, now, pace }),
          nowMs: now(),
        };
      case "hold_thread":
        await threads.hold({ task, untilMs: act.untilMs });
        return { type: "thread_held" };
      case "ask_question": {
        const ts = await askQuestion({ ...request, reconcile: act.reconcile, nowMs: now() });
        await markAsking(request);
        // Best effort. The placeholder now says that the bot waits for an answer.
        await showProgress({ ...request, streaming: false, now });
        return { type: "question_asked", ts, nowMs: now() };
      }
      case "show_question":
        await showQuestion({ ...request, nowMs: now() });
        if (task.question?.answer !== undefined) {
          await markWorking(request);
          await showProgress({ ...request, streaming: false, now });
        }
        return { type: "question_shown", nowMs: now() };
      case "upload": {
        const { index } = act;
        const upload = () => files.upload({ task, index, signal });
        const { fileId } = await (files.isFetched({ task, index })
          ? inTransfer({ task, work: upload })
          : upload());
        return { type: "uploaded", index, fileId };
      }
      case "deliver":
        return { type: await deliver({ ...request, reconcile: act.reconcile, nowMs: now() }) };
      case "check_thread": {
        // A status that Slack took late may say that the bot is still at work.
        if (indicators.sessions && (await threads.isIdle({ task }))) await settleSession(request);
        return {
          type: (await hasLeftovers({ ...request, nowMs: now() }))
            ? "leftovers_found"
            : "cleaned_up",
        };
      }
      case "clean_up":
        await cleanUpThread({ ...request, nowMs: now() });
        return { type: "cleaned_up" };
    }
  }

  /** Leaves the thread, or returns the write that does it. */
  async function leaveThread({ task, signal, storesWrites }: ActRequest): Promise<ActResult> {
    await gate.release({ task });
    const write = storesWrites ? threads.releaseWrite({ task }) : undefined;
    if (write === undefined) await threads.leave({ task });
    if (indicators.sessions && (await threads.isIdle({ task })))
      await settleSession({ slack, task, text, indicators, signal });
    return { event: { type: "thread_left" }, ...(write && { writes: [write] }) };
  }

  /** Cancels only those tasks of the thread that the person may cancel. */
  function cancelThread({ task, signal }: { task: Task; signal: AbortSignal }) {
    const mayCancel = async (id: string) => {
      const other = await taskOf(id);
      if (other === undefined) return false;
      const person = await gate.identify({ task: other, actor: actorOf(task.message), signal });
      return gate.mayCancel({ task: other, person, signal });
    };
    return threads.cancelAll({ task, mayCancel });
  }

  /** Returns the event of a failure that a repetition of the act does not mend at once. Throws every other failure. */
  function toFailure(act: Act, thrown: unknown): TaskEvent {
    if (thrown instanceof SlackError) {
      const { kind, retryAfterMs } = thrown;
      return { type: "slack_failed", nowMs: now(), act: act.type, kind, retryAfterMs };
    }
    if (isDataFailure(thrown))
      return { type: "step_failed", nowMs: now(), causeKind: causeKindOf(thrown) };
    if (thrown instanceof TransferBusy)
      return { type: "transfer_busy", nowMs: now(), delayMs: thrown.delayMs };
    if (thrown instanceof FetchTimedOut && act.type === "upload")
      return { type: "fetch_timed_out", index: act.index };
    if (!(thrown instanceof FileRefused)) throw thrown;
    if (act.type === "upload") return { type: "uploaded", index: act.index, fileId: undefined };
    return { type: "file_refused", outcome: thrown.outcome };
  }

  const runAct = async (request: ActRequest): Promise<ActResult> => {
    const { act } = request;
    try {
      if (act.type === "leave_thread") return await leaveThread(request);
      return { event: await perform({ ...request, act }) };
    } catch (thrown) {
      return { event: toFailure(act, thrown) };
    }
  };
  return Object.assign(runAct, { stopSession: calls.stopSession });
}

type LeaveThread = Extract<Act, { type: "leave_thread" }>;

function isCall(act: Act): act is ExecutionCall {
  return (
    act.type === "send" || act.type === "poll" || act.type === "answer" || act.type === "cancel"
  );
}

/**
 * Posts the placeholder in the thread and adds a reaction to the message. Resolves to the placeholder's `ts`. With `reconcile` it first
 * looks for a placeholder that an earlier try posted.
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
    const [earlier] = (await ownPostsOrKnown(request)).filter(
      ({ part }) => part === placeholderPart,
    );
    if (earlier !== undefined) return earlier.ts;
  }
  const key = { requestId: task.id, part: placeholderPart };
  const target = { installation: installationOf(task), ...threadRefOf(task) };
  const posted = await slack.post({ ...target, content: text.placeholder(task), key, signal });
  await markReceived(request);
  return posted.ts;
}

type PrepareRequest = {
  act: Extract<Act, { type: "prepare" }>;
  slack: SlackApi;
  files: Files;
  findTaskContext: FindTaskContext;
  contextSettings: ContextSettings;
  inTransfer: InTransfer;
  task: Task;
  signal: AbortSignal;
  nowMs: number;
};

/** Gathers the conversation's history, the files, and names and channels. Rejects with a FileRefused, or with a SlackError if a retry may succeed. */
async function prepare(request: PrepareRequest): Promise<Context> {
  const {
    act,
    files,
    findTaskContext,
    contextSettings,
    inTransfer,
    task: waited,
    signal,
  } = request;
  const newest = await readAgain(request);
  if (newest !== undefined && "lack" in newest) return { newest };
  const { files: ownFiles = [], sharedFiles = [] } = newest ?? waited.message;
  const message = { ...waited.message, files: [...ownFiles], sharedFiles: [...sharedFiles] };
  const task = newest === undefined ? waited : { ...waited, message };
  const { threadTs, command, files: asked = [] } = task.message;
  const work = () => files.importAttachments({ task, signal });
  const attachments = asked.length > 0 ? await inTransfer({ task, work }) : [];
  const hasHistory = act.history !== undefined || (threadTs !== undefined && !command);
  // One read of the conversation is enough for its history, its files and the names in it.
  const conversation = hasHistory ? await readConversation(request) : [];
  const messages = conversation.filter(
    ({ from }) => contextSettings.otherApps || from !== "other_bot",
  );
  const further = contextSettings.files
    ? await importFurther(
        { ...request, task },
        listThreadFiles({ messages, message: task.message }),
      )
    : { attachments: [], leftOut: undefined };
  const texts = [waited.message.text, newest?.text ?? "", waited.message.about?.instruction ?? ""];
  const { names, context } = await findTaskContext({ task, texts, thread: messages, signal });
  const nameOf = (id: string) => (Object.hasOwn(names, id) ? names[id] : undefined);
  const mayRead = (destination: string | undefined) => mayReadAnswer(task.route, destination);
  const history = pureStep(() =>
    createThreadHistory({ messages, message: task.message, mayRead, nameOf }),
  );
  const { leftOut } = further;
  return {
    attachments: [...attachments, ...further.attachments],
    history,
    newest,
    names,
    context,
    leftOut,
  };
}

/** Reads the message once more if an edit or a deletion is not told to this task. */
async function readAgain(request: PrepareRequest): Promise<Context["newest"]> {
  return isToBeReadAgain(request.task) ? readMessage(request) : undefined;
}

/**
 * Reads the text and the files of a message that is tried again, or that a person asks about. They come from Slack, because Sekisho does
 * not keep them. Resolves to a `lack` if the message, or all of its files, are gone. Rejects with a SlackError.
 */
export async function readMessage(request: {
  slack: SlackApi;
  task: Task;
  signal: AbortSignal;
}): Promise<MessageRead> {
  const { slack, task, signal } = request;
  const { message: asked } = task;
  if (asked.about !== undefined) {
    const { channel, threadTs, about } = asked;
    const call = { installation: installationOf(task), requestId: task.id, signal };
    const read = await slack.message({ ...call, channel, ts: about.ts, threadTs });
    if (read === undefined) return { lack: "message" };
    return task.retryOf !== undefined && hadFiles(task) && read.files.length === 0
      ? { lack: "files" }
      : read;
  }
  const messages = await messagesFromTask(request);
  const message = messages.find((candidate) => candidate.ts === asked.ts);
  if (message === undefined) return { lack: "message" };
  const { files = [], sharedFiles = [] } = message;
  if (hadFiles(task) && files.length === 0) return { lack: "files" };
  const { text, markdown = text } = message;
  const isEmpty = markdown === "" && files.length + sharedFiles.length === 0;
  return isEmpty ? { lack: "message" } : { text: markdown, files, sharedFiles };
}

/** Without them a retry would be a different request. */
function hadFiles({ message: { hadFiles, files = [] } }: Task): boolean {
  return hadFiles === true || files.length > 0;
}

/** How long a worker waits for Slack to accept a notice. */
const noticeTimeoutMs = 5000;
/**
 * The limit of concurrent notices of one process, so that a slow Slack leaves workers free for answers. People who may not ask have a
 * separate limit of the same size, so that they cannot hold up notices to others.
 */
const maxNoticesAtOnce = 4;

/** Creates the function that tells a person privately that a request was refused, within the limits of `gate/refusals.ts`. */
export function createNotify({ gate }: { gate: Pick<Gate, "isStranger" | "mayRefuse"> }): Notify {
  const allowed = createConcurrencyLimit({ max: maxNoticesAtOnce });
  let strangers = 0;

  /** At the limit, drops a notice to a person who may not ask, and delays any other. */
  async function send({ post, ...notice }: Parameters<Notify>[0]): Promise<void> {
    const { signal } = notice;
    const isStranger = await gate.isStranger(notice);
    signal.throwIfAborted();
    const postIfDue = async () => {
      if (await gate.mayRefuse({ ...notice, user: notice.actor.user, isStranger }))
        await post(signal);
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

type RefuseRequest = {
  slack: SlackApi;
  notify: Notify;
  task: Task;
  text: TaskText;
  signal: AbortSignal;
};

/** Tells the writer of a refused message the reason. */
export async function postRefusalOnce({
  slack,
  notify,
  task,
  text,
  signal,
}: RefuseRequest): Promise<void> {
  const { threadTs } = task.message;
  const actor = actorOf(task.message);
  const [content] = text.parts(task);
  if (content === undefined || task.outcome === undefined) return;
  const post = (deadline: AbortSignal) => postRefusal(slack, task, content, deadline);
  await notify({ task, actor, kind: kindOf(task.outcome), threadTs, signal, post });
}

async function postRefusal(
  slack: SlackApi,
  task: Task,
  content: MessageContent,
  signal: AbortSignal,
): Promise<void> {
  const { user, channel, direct, threadTs, command, unaddressed } = task.message;
  const installation = installationOf(task);
  const call = { installation, requestId: task.id, signal };
  const key = { requestId: task.id, part: answerPart };
  const post = (target: { channel: string; threadTs: string | undefined }) =>
    slack.post({ installation, content, key, signal, ...target });
  if (direct) {
    await post({ channel, threadTs: command ? undefined : threadRefOf(task).threadTs });
    return;
  }
  try {
    // Slack does not show an ephemeral message in a thread that has no reply yet.
    await slack.postEphemeral({ ...call, channel, threadTs, user, text: content.text });
  } catch (thrown) {
    // The bot or the person is not in the channel.
    if (unaddressed || !isSlackError(thrown, ["gone", "refused"])) throw thrown;
    await post({ ...(await slack.openDirect({ ...call, user })), threadTs: undefined });
  }
}

/** Each kind of refusal is shown once within the window of `gate/refusals.ts`. */
function kindOf(outcome: TaskOutcome): string {
  if (outcome.type === "failed") return outcome.reason;
  if (outcome.type !== "limited") return outcome.type;
  return `limited_by_${outcome.by}${outcome.retryAtMs === undefined ? "_at_once" : ""}`;
}
