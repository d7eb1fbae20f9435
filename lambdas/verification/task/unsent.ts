/**
 * The states before the task is sent. `received`: the message is refused, taken as a reply or as a request to cancel, or accepted and
 * announced in its thread. `queued` and `announced`: the task waits until no other task of the thread is before it, then its history and
 * files are gathered.
 */

import { cutText, maxTextLength } from "@sekisho/contracts/limits.ts";
import { asksForHelp, isCancelWord } from "./command-words.ts";
import { endCleanup, giveUpDelivery, needsThread, releaseThread } from "./delivering.ts";
import type { Delay, EventOf, MessageRead } from "./events.ts";
import { countSlackFailure, fallBackToMrkdwn, retrySlack } from "./failures.ts";
import type { UserFile } from "./messages.ts";
import { readAgentText, withParams } from "./params.ts";
import {
  chooseDestination,
  destinationOf,
  leadsElsewhere,
  type Policy,
  withCall,
} from "./routing.ts";
import { sendTask } from "./sent.ts";
import { toSlackDocument } from "./slack-documents.ts";
import type { Task, TaskOutcome } from "./task.ts";
import { placeInThread } from "./thread-route.ts";
import { isOutdated, isPastDeadline, maxAgeMs, threadReleaseMs } from "./time-limits.ts";
import {
  advance,
  failedOutcome,
  internalOutcome,
  markForReconcile,
  setOutcome,
  type Transition,
  unavailableOutcome,
  wake,
} from "./transition.ts";
import { withShownProgress } from "./waiting.ts";

/** Checks the permission at every try, because the rules may have changed. */
export function onWokenReceived(task: Task, { workerDied }: EventOf<"woken">): Transition {
  return { task: workerDied ? markForReconcile(task) : task, effects: [{ type: "permit" }] };
}

/** A person who may not ask gets a private refusal, unless the message did not mention the bot. */
export function onPermitted(
  task: Task,
  { allowed, locale, nowMs, isExternal }: EventOf<"permitted">,
  policy: Policy,
): Transition {
  const { message } = task;
  const taskWithLocale = { ...task, locale };
  const refusal: TaskOutcome = { type: "refused", ...(isExternal ? { external: true } : {}) };
  if (!allowed)
    return message.unaddressed ? ignore(taskWithLocale) : turnAway(taskWithLocale, refusal);
  // A message without a mention may not be for the bot, so it is not reported as too old before that is known.
  if (isOutdated(task, nowMs) && !message.unaddressed)
    return (isSilent(task) ? turnAway : setOutcome)(taskWithLocale, { type: "too_old" });
  // A bot neither cancels nor answers questions, because neither is counted by what ends a loop of two bots.
  const isBot = message.botIds !== undefined;
  if (!isBot && isCancelWord(message.text))
    return { task: taskWithLocale, effects: [{ type: "cancel_thread" }] };
  if (isToBeRead(task)) return { task: taskWithLocale, effects: [{ type: "read_message" }] };
  const { threadTs, command } = message;
  if (threadTs === undefined || command || isBot)
    return acceptMessage(taskWithLocale, { nowMs, policy });
  // In a thread the message may reply to a question.
  return {
    task: taskWithLocale,
    effects: [{ type: "give_reply", reconcile: taskWithLocale.reconcile === true }],
  };
}

/** A retry has the record of its first message, which may name files, and no text. */
function isToBeRead({ retryOf, message: { about, text, files } }: Task): boolean {
  return text === "" && (retryOf !== undefined || (about !== undefined && files === undefined));
}

/** In a thread that waits for a reply, the message is that reply and never a new task. */
export function onReplyGiven(
  task: Task,
  { decision, nowMs }: EventOf<"reply_given">,
  policy: Policy,
): Transition {
  const isSilent = task.message.unaddressed === true;
  if (decision === "taken" || decision === "use_buttons") return ignore(task);
  if (decision === "none")
    return isSilent && !policy.threadReplies
      ? ignore(task)
      : acceptMessage(task, { nowMs, policy });
  if (isSilent) return ignore(task);
  if (decision === "not_yours") return turnAway(task, { type: "not_yours" });
  return turnAway(task, failedOutcome({ reason: "invalid_params", lost: false }));
}

/** Continues with the current text and files of a message that is tried again, or that a person asks about. */
export function onMessageRead(
  task: Task,
  event: EventOf<"message_read">,
  policy: Policy,
): Transition {
  if (task.message.about !== undefined) return onAboutRead(task, event, policy);
  if ("lack" in event) {
    return setOutcome(task, {
      type: "unreadable",
      ...(event.lack === "files" && { files: true as const }),
    });
  }
  const { text, nowMs } = event;
  if (task.message.botIds === undefined && isCancelWord(text))
    return { task, effects: [{ type: "cancel_thread" }] };
  if (task.message.unaddressed && !policy.threadReplies) return ignore(task);
  return acceptMessage({ ...task, message: withNewest(task.message, event) }, { nowMs, policy });
}

/**
 * Continues with the message that a person asks about. It is never a reply to a question, nor the word to cancel, because the person chose
 * it from Slack's menu. The instruction of a retry is erased, so that the retry would be another request.
 */
function onAboutRead(task: Task, event: EventOf<"message_read">, policy: Policy): Transition {
  const { about, ...message } = task.message;
  if (about === undefined || "lack" in event || about.hadInstruction) {
    const isWithoutFiles = "lack" in event && event.lack === "files";
    return endUnread(task, { type: "unreadable", ...(isWithoutFiles && { files: true as const }) });
  }
  const { nowMs } = event;
  return acceptMessage(
    { ...task, message: withAbout({ ...message, about }, event) },
    { nowMs, policy },
  );
}

/** A retry is answered in the thread, where its button was. Whoever uses the shortcut is told privately. */
function endUnread(task: Task, outcome: TaskOutcome): Transition {
  const isFirstTry = task.message.about !== undefined && task.retryOf === undefined;
  return (isFirstTry ? turnAway : setOutcome)(task, outcome);
}

/** The message with the text and the files of the one that it is about. */
function withAbout(
  message: Task["message"],
  newContent: Exclude<MessageRead, { lack: string }>,
): Task["message"] {
  const { files: _files, sharedFiles: _sharedFiles, ...otherMembers } = message;
  const instruction = message.about?.instruction.trim() ?? "";
  return {
    ...otherMembers,
    text: aboutText({ instruction, text: newContent.text }),
    ...filesOf(newContent),
  };
}

function filesOf({ files, sharedFiles = [] }: Exclude<MessageRead, { lack: string }>) {
  return {
    ...(files.length > 0 && { files: [...files] }),
    ...(sharedFiles.length > 0 && { sharedFiles: [...sharedFiles] }),
  };
}

/** The message as it is in Slack now. */
function withNewest(
  message: Task["message"],
  newContent: Exclude<MessageRead, { lack: string }>,
): Task["message"] {
  if (message.about !== undefined) return withAbout(message, newContent);
  const {
    files: _files,
    sharedFiles: _sharedFiles,
    hadFiles: _hadFiles,
    ...otherMembers
  } = message;
  return { ...otherMembers, text: newContent.text, ...filesOf(newContent) };
}

/** The instruction, and the message as a quotation, of which a part is left out if it is too long. */
function aboutText({ instruction, text }: { instruction: string; text: string }): string {
  if (instruction === "" || text === "") return instruction || text;
  return cutText(`${instruction}\n\n${text.replace(/^/gm, "> ")}`, maxTextLength);
}

/** Returns why the text and the files of a message are no task, or undefined. */
export function findRefusal(message: Task["message"], policy: Policy): TaskOutcome | undefined {
  const { text, files = [], sharedFiles = [] } = message;
  if (readAgentText(message, policy) === "" && files.length + sharedFiles.length === 0)
    return failedOutcome({ reason: "invalid_params", lost: false });
  // In UTF-16 units, because the ingress cuts a text behind so many. A cut text must not run.
  return text.length > maxTextLength
    ? failedOutcome({ reason: "payload_too_large", lost: false })
    : undefined;
}

/** Accepts the message as a task: checks age, text and destination, then counts it in the quotas. */
function acceptMessage(
  task: Task,
  { nowMs, policy }: { nowMs: number; policy: Policy },
): Transition {
  if (isOutdated(task, nowMs)) return setOutcome(task, { type: "too_old" });
  if (policy.helpWord && asksForHelp(task.message))
    return { task, effects: [{ type: "write_help" }] };
  const refusal = findRefusal(task.message, policy);
  if (refusal !== undefined && mayGetFiles(task)) return { task, effects: [wake(lateFilesMs)] };
  if (refusal !== undefined) return turnAway(task, refusal);
  // In a thread the message may have no route of its own, because it follows the thread's.
  const taskWithRoute =
    chooseDestination(task, policy) ?? (task.message.threadTs === undefined ? undefined : task);
  if (taskWithRoute === undefined) return onNoRoute(task);
  const untilMs = nowMs + maxAgeMs + destinationOf(taskWithRoute, policy).deadlineMs;
  return { task: taskWithRoute, effects: [{ type: "charge", untilMs }] };
}

/** How long a mention without any text waits for its files, before it is refused as no request. */
const lateFilesMs = 2000;

/** True for a mention of nothing but the bot, until it has waited once. Of a channel's message Slack tells twice, once perhaps without its files. */
function mayGetFiles({ message, retryOf, wakeSeq }: Task): boolean {
  const { text, direct, command, about, editedTs } = message;
  const isMention =
    !direct && !command && about === undefined && retryOf === undefined && editedTs === undefined;
  return isMention && text === "" && wakeSeq === 0;
}

/** The answer is no task: it has no destination, and is not counted in the quotas. */
export function onHelpWritten(task: Task, { text }: EventOf<"help_written">): Transition {
  return setOutcome(task, { type: "help", text });
}

export function onCharged(task: Task, { over }: EventOf<"charged">, policy: Policy): Transition {
  if (over !== undefined) return turnAway(task, { type: "limited", ...over });
  if (!needsThread(task)) return requestThreadPosition(task);
  const { reconcile = false } = task;
  return {
    task,
    effects: [{ type: "open_thread", privately: policy.commandsPrivately, reconcile }],
  };
}

/** The deadline counts from now on if no task is before this one. */
export function onThreadJoined(
  task: Task,
  event: EventOf<"thread_joined">,
  policy: Policy,
): Transition {
  const taskInThread = placeInThread(task, event, policy);
  if (taskInThread === undefined) return onNoRoute(task);
  const { queuePosition, nowMs } = event;
  return {
    task: queuePosition === 0 ? startDeadline(taskInThread, nowMs, policy) : taskInThread,
    effects: [{ type: "announce", reconcile: task.reconcile === true }],
  };
}

export function onThreadFull(task: Task): Transition {
  return turnAway(task, failedOutcome({ reason: "rate_limited", lost: false }));
}

export function onNoRoute(task: Task): Transition {
  return turnAway(task, failedOutcome({ reason: "agent_not_found", lost: false }));
}

export function onAnnounced(task: Task, { ts, nowMs }: EventOf<"announced">): Transition {
  const state = task.queuePosition === 0 ? "announced" : "queued";
  // A waiting task looks again at once, because the task before it may have left before this one was waiting.
  return {
    task: advance(task, { placeholder: { ts, postedAtMs: nowMs }, state }),
    effects: [wake(0)],
  };
}

/**
 * The thread's tasks were asked to end. If there are none, a message that does not mention the bot gets no answer. If an earlier message
 * had canceled them, only the writer is notified. If an earlier try of this message canceled them, the answer goes in the thread.
 */
export function onThreadCanceled(
  task: Task,
  { count, isRepeated }: EventOf<"thread_canceled">,
): Transition {
  if (count === 0 && task.message.unaddressed) return ignore(task);
  const isNews = (count > 0 && !isRepeated) || task.reconcile === true;
  return (isNews ? setOutcome : turnAway)(task, { type: "canceling", count });
}

/** Schedules the cleanup if an earlier try may have posted a placeholder. */
export function onRefusalShown(task: Task): Transition {
  return releaseThread(advance(task.reconcile ? task : endCleanup(task), { state: "done" }));
}

/** A Slack call failed before anything was sent to the Execution zone. */
export function onSlackFailedReceived(task: Task, event: EventOf<"slack_failed">): Transition {
  const { again, isGivenUp } = countSlackFailure(task, event);
  if (!isGivenUp) return retrySlack(again, event);
  if (event.act === "read_message") return endUnread(task, { type: "unreadable" });
  // Slack may have refused the placeholder's blocks.
  if (event.kind === "refused" && task.mrkdwnFallback === undefined) return fallBackToMrkdwn(again);
  if (event.kind === "gone" || isSilent(task)) return giveUpDelivery(task);
  return setOutcome(task, internalOutcome, { reconcile: true });
}

/**
 * True if nothing may be posted about the message, because it has no position in its thread yet and may not be for the bot, or is another
 * app's: that could answer every post, and is not counted by what ends a loop of two bots.
 */
export function isSilent({ message, queuePosition }: Task): boolean {
  return (message.unaddressed || message.botIds !== undefined) && queuePosition === undefined;
}

/**
 * Refuses the message. Only its writer sees the reason, within the limits of `gate/refusals.ts`. Another bot gets no answer, which it
 * might answer in turn.
 */
function turnAway(task: Task, outcome: TaskOutcome): Transition {
  if (task.message.botIds !== undefined) return onRefusalShown({ ...task, outcome });
  return { task: { ...task, outcome }, effects: [{ type: "refuse" }] };
}

/** Ends the task without an answer. If an earlier try may have accepted the message as a task, its posts are cleaned up. */
export function ignore(task: Task): Transition {
  if (task.reconcile) return releaseThread(advance(task, { state: "done" }));
  return { task: advance(endCleanup(task), { state: "done" }), effects: [] };
}

/** The limit of tries to read the thread's history and the message's files: about 15 seconds. */
export const maxContextTries = 4;

export function onWokenQueued(task: Task, { nowMs }: EventOf<"woken">): Transition {
  if (isOutdated(task, nowMs)) return setOutcome(task, { type: "too_old" });
  return requestThreadPosition(task);
}

/** Requests a position in the thread. With it the task gets its route. */
export function requestThreadPosition(task: Task): Transition {
  return { task, effects: [{ type: "join_thread" }] };
}

/** The task begins, and its deadline counts, once no other task is before it. */
export function onQueuePosition(
  task: Task,
  event: EventOf<"thread_joined">,
  policy: Policy,
): Transition {
  const taskInThread = placeInThread(task, event, policy);
  if (taskInThread === undefined) return onNoRouteQueued(task);
  const { queuePosition, freeAtMs, nowMs } = event;
  if (queuePosition > 0)
    return { task: taskInThread, effects: [wake(turnDelay({ freeAtMs, nowMs }))] };
  const announcedTask = advance(startDeadline(taskInThread, nowMs, policy), { state: "announced" });
  // Edits the placeholder, which still says that the task waits.
  return { task: announcedTask, effects: [{ type: "show_progress" }] };
}

/** Sets the deadline, which counts from the time when the task may begin. */
function startDeadline(task: Task, nowMs: number, policy: Policy): Task {
  return withCall(task, { deadlineAtMs: nowMs + destinationOf(task, policy).deadlineMs });
}

/**
 * Returns the delay before the next look at the thread. A waiting task gets a `thread_free` message when its turn comes. If that message
 * is lost, the task still looks often enough to notice that the one before it has an outcome.
 */
export function turnDelay({
  freeAtMs,
  nowMs,
}: {
  freeAtMs: number;
  nowMs: number;
}): Required<Delay> {
  return {
    delayMs: Math.min(Math.max(freeAtMs - nowMs, 0) + 1000, threadReleaseMs),
    jitterMs: 10_000,
  };
}

/** Posts the failure in the thread, because the task has a placeholder already. */
export function onThreadFullQueued(task: Task): Transition {
  return setOutcome(task, failedOutcome({ reason: "rate_limited", lost: false }));
}

export function onNoRouteQueued(task: Task): Transition {
  return setOutcome(task, failedOutcome({ reason: "agent_not_found", lost: false }));
}

/** Gathers the context first, then sends the task once its params are in the record. */
export function onWokenAnnounced(
  task: Task,
  { nowMs }: EventOf<"woken">,
  policy: Policy,
): Transition {
  if (isPastDeadline(task, nowMs)) return setOutcome(task, unavailableOutcome);
  if (task.call?.params !== undefined) return sendTask(advance(task, {}), { nowMs, policy });
  if (isInOneConversation(task, policy))
    return { task, effects: [{ type: "prepare", history: "direct_message" }] };
  if (hasContext(task, policy)) return { task, effects: [{ type: "prepare" }] };
  return sendTask(advance(withParams(task, {}, policy), {}), { nowMs, policy });
}

/** True for a message outside of a thread in a direct message that is one conversation. */
function isInOneConversation({ message }: Task, { oneDirectConversation }: Policy): boolean {
  return (
    oneDirectConversation && message.direct && message.threadTs === undefined && !message.command
  );
}

/** True if the message may have a history, files or a context to send, or another text than before. */
function hasContext(task: Task, policy: Policy): boolean {
  const { threadTs, command, files = [], sharedFiles = [] } = task.message;
  const isInThread = threadTs !== undefined && !command;
  const hasFiles = files.length + sharedFiles.length > 0;
  return isInThread || hasFiles || isToBeReadAgain(task) || policy.needsLookups(task.message);
}

/**
 * True if the message was read from Slack, and the task has waited since then. Slack tells of an edit under the request id of the message
 * itself, which is not that of a retry, or of a task that is about the message.
 */
export function isToBeReadAgain({ message, retryOf, history }: Task): boolean {
  return (
    (message.about !== undefined || retryOf !== undefined) &&
    history.some(({ state }) => state === "queued")
  );
}

/** The placeholder no longer says that the task waits. */
export function onTurnShown(task: Task, event: EventOf<"progress_shown">): Transition {
  return { task: withShownProgress(task, event), effects: [wake(0)] };
}

/**
 * Fails the task unless all of its files were read, because without one of them the message could mean something else. A message that was
 * read again counts as it is now: an edit or a deletion while the task waited takes effect.
 */
export function onPrepared(
  waitingTask: Task,
  { context }: EventOf<"prepared">,
  policy: Policy,
): Transition {
  const { newest } = context;
  const { message } = waitingTask;
  if (newest !== undefined && "lack" in newest && newest.lack === "files") {
    return setOutcome(waitingTask, { type: "unreadable", files: true });
  }
  // A bot cancels nothing, and neither does a message that a person asks about.
  const mayCancel = message.about === undefined && message.botIds === undefined;
  const isTakenBack =
    newest !== undefined && ("lack" in newest || (mayCancel && isCancelWord(newest.text)));
  if (isTakenBack)
    return setOutcome(waitingTask, failedOutcome({ reason: "canceled", lost: false }), {
      reconcile: true,
    });
  const task =
    newest === undefined ? waitingTask : { ...waitingTask, message: withNewest(message, newest) };
  const refusal = findRefusal(task.message, policy);
  if (refusal !== undefined) return setOutcome(task, refusal);
  if (leadsElsewhere({ task: waitingTask, edited: task, policy }))
    return requestThreadPosition({ ...task, state: "queued" });
  const attachedIds = new Set(context.attachments?.map(({ id }) => id));
  const missing = task.message.files?.find(({ id }) => !attachedIds.has(id));
  if (missing !== undefined) return setOutcome(task, missingFileOutcome(missing));
  return { task: withParams(task, context, policy), effects: [wake(0)] };
}

export function onFileRefused(task: Task, { outcome }: EventOf<"file_refused">): Transition {
  return setOutcome(task, outcome);
}

/** The history or the files could not be read. The task goes on without the history, and fails without its files. */
export function onPrepareFailed(
  task: Task,
  event: EventOf<"slack_failed">,
  policy: Policy,
): Transition {
  const { again, isTerminal } = countSlackFailure(task, event);
  if (!isTerminal && again.attempts < maxContextTries) return retrySlack(again, event);
  const [file] = task.message.files ?? [];
  if (file !== undefined) return setOutcome(task, missingFileOutcome(file));
  return { task: advance(withParams(task, {}, policy), {}), effects: [wake(0)] };
}

function missingFileOutcome({ name, mimetype }: UserFile): TaskOutcome {
  const detail = toSlackDocument(mimetype);
  return {
    type: "file_refused",
    why: "not_to_be_had",
    name,
    ...(detail !== undefined && { detail }),
  };
}
