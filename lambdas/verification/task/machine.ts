/** The task machine: a pure function from a task and one event to the next task and its effects. `worker/step/run.ts` runs the effects. */
import { eraseLink } from "./answer-rules.ts";
import {
  onAnsweredAsking,
  onCallFailedAsking,
  onQuestionAsked,
  onQuestionNotAsked,
  onQuestionShown,
  onThreadHeld,
  onWokenAsking,
} from "./asking.ts";
import {
  onAnsweredCanceling,
  onCancelAsked,
  onCanceled,
  onCancelFailed,
  onWokenCanceling,
} from "./canceling.ts";
import {
  onActOver,
  onCallOverDone,
  onCleanedUp,
  onCleanupFailed,
  onDelivered,
  onDeliveryFailed,
  onFetchTimedOut,
  onGivenUpNotCanceled,
  onLeftoversFound,
  onShareRefused,
  onThreadLeft,
  onThreadOpened,
  onTransferBusy,
  onUploaded,
  onWokenDelivering,
  onWokenDone,
} from "./delivering.ts";
import {
  onDeletedQueued,
  onDeletedReceived,
  onEditedAnnounced,
  onEditedQueued,
  onEditedReceived,
} from "./edited.ts";
import type { EventOf, TaskEvent } from "./events.ts";
import { onBusy } from "./polls.ts";
import { onDeadLettered, onRedrivenDone, onStepFailed } from "./recovery.ts";
import type { Policy } from "./routing.ts";
import { onAnsweredSent, onCallFailedSent, onWokenSent } from "./sent.ts";
import type { Task } from "./task.ts";
import type { Transition } from "./transition.ts";
import {
  onAnnounced,
  onCharged,
  onFileRefused,
  onHelpWritten,
  onMessageRead,
  onNoRoute,
  onNoRouteQueued,
  onPermitted,
  onPrepared,
  onPrepareFailed,
  onQueuePosition,
  onRefusalShown,
  onReplyGiven,
  onSlackFailedReceived,
  onThreadCanceled,
  onThreadFull,
  onThreadFullQueued,
  onThreadJoined,
  onTurnShown,
  onWokenAnnounced,
  onWokenQueued,
  onWokenReceived,
} from "./unsent.ts";
import {
  onAnsweredWaiting,
  onBusyWaiting,
  onPollFailed,
  onProgressShown,
  onWokenWaiting,
} from "./waiting.ts";

type Handlers = {
  readonly [E in TaskEvent["type"]]?: (task: Task, event: EventOf<E>, policy: Policy) => Transition;
};

/** The state, or `canceling`: the task was sent and has a `cancelReason`. */
type Phase = Task["state"] | "canceling";

/** Handlers of events that can occur in every phase. */
const everywhere: Handlers = {
  cancel_asked: onCancelAsked,
  dead_lettered: onDeadLettered,
  step_failed: onStepFailed,
};

const handlersOf: { readonly [P in Phase]: Handlers } = {
  received: {
    woken: onWokenReceived,
    permitted: onPermitted,
    reply_given: onReplyGiven,
    message_read: onMessageRead,
    charged: onCharged,
    thread_opened: onThreadOpened,
    thread_joined: onThreadJoined,
    thread_full: onThreadFull,
    no_route: onNoRoute,
    announced: onAnnounced,
    thread_canceled: onThreadCanceled,
    help_written: onHelpWritten,
    refusal_shown: onRefusalShown,
    slack_failed: onSlackFailedReceived,
    message_edited: onEditedReceived,
    message_deleted: onDeletedReceived,
    busy: onBusy,
  },
  queued: {
    woken: onWokenQueued,
    thread_joined: onQueuePosition,
    thread_full: onThreadFullQueued,
    no_route: onNoRouteQueued,
    message_edited: onEditedQueued,
    message_deleted: onDeletedQueued,
  },
  announced: {
    woken: onWokenAnnounced,
    progress_shown: onTurnShown,
    prepared: onPrepared,
    file_refused: onFileRefused,
    transfer_busy: onTransferBusy,
    slack_failed: onPrepareFailed,
    message_edited: onEditedAnnounced,
    message_deleted: onDeletedQueued,
  },
  sent: {
    woken: onWokenSent,
    answered: onAnsweredSent,
    call_failed: onCallFailedSent,
    busy: onBusy,
  },
  waiting: {
    woken: onWokenWaiting,
    answered: onAnsweredWaiting,
    progress_shown: onProgressShown,
    call_failed: onPollFailed,
    busy: onBusyWaiting,
  },
  asking: {
    woken: onWokenAsking,
    thread_held: onThreadHeld,
    question_asked: onQuestionAsked,
    question_shown: onQuestionShown,
    answered: onAnsweredAsking,
    call_failed: onCallFailedAsking,
    slack_failed: onQuestionNotAsked,
    busy: onBusy,
  },
  canceling: {
    woken: onWokenCanceling,
    answered: onAnsweredCanceling,
    canceled: onCanceled,
    call_failed: onCancelFailed,
    busy: onBusy,
  },
  delivering: {
    woken: onWokenDelivering,
    thread_opened: onThreadOpened,
    uploaded: onUploaded,
    fetch_timed_out: onFetchTimedOut,
    transfer_busy: onTransferBusy,
    share_refused: onShareRefused,
    delivered: onDelivered,
    slack_failed: onDeliveryFailed,
    canceled: onActOver,
    call_failed: onGivenUpNotCanceled,
    busy: onActOver,
    thread_left: onActOver,
  },
  done: {
    woken: onWokenDone,
    thread_left: onThreadLeft,
    cleaned_up: onCleanedUp,
    leftovers_found: onLeftoversFound,
    slack_failed: onCleanupFailed,
    redriven: onRedrivenDone,
    canceled: onCallOverDone,
    call_failed: onCallOverDone,
    busy: onCallOverDone,
  },
};

/**
 * Returns the next record and its effects. The caller stores the record before a step's first act and at each wake-up without a delay
 * (`worker/step/run.ts`), but not between acts that follow each other directly. So no handler of an act's event returns the first `send` or
 * `deliver` directly: it returns `wake(0)`, and the record says `sent` or `delivering` before anything is sent or posted.
 */
export function next({
  task,
  event,
  policy,
}: {
  task: Task;
  event: TaskEvent;
  policy: Policy;
}): Transition {
  // A redrive of an unfinished task is a wake-up.
  if (event.type === "redriven" && task.state !== "done")
    return next({ task, event: { ...event, type: "woken" }, policy });
  if (event.type === "woken" && task.owed !== undefined) {
    // The act is removed from the record before it runs, so that an act that kills its worker is not repeated.
    const { owed, ...ownTask } = task;
    return { task: ownTask, effects: [{ type: owed }] };
  }
  const phase = phaseOf(task);
  // The cast is needed because the compiler does not connect the event's type with its handler.
  const handle = (handlersOf[phase][event.type] ?? everywhere[event.type]) as Handler | undefined;
  if (handle === undefined)
    throw new Error(`A task that is ${phase} cannot handle the event ${event.type}.`);
  const transition = eraseClosedLink(handle(task, event, policy));
  return transition.task.state === "done" ? unlistDone(transition) : transition;
}

/** A link to sign in goes with its question, however that ends. */
function eraseClosedLink(transition: Transition): Transition {
  const { task } = transition;
  const { question } = task;
  const isOpen = task.state === "asking" && task.cancelReason === undefined;
  if (isOpen || question?.signIn?.url === undefined) return transition;
  return { ...transition, task: { ...task, question: eraseLink(question) } };
}

type Handler = (task: Task, event: TaskEvent, policy: Policy) => Transition;

/** A task that is done is no longer listed among the person's tasks under way. */
function unlistDone(transition: Transition): Transition {
  const { listedAtMs: _listedAtMs, ...unlistedTask } = transition.task;
  return { ...transition, task: unlistedTask };
}

function phaseOf({ state, cancelReason }: Task): Phase {
  const isSent = state === "sent" || state === "waiting" || state === "asking";
  return isSent && cancelReason !== undefined ? "canceling" : state;
}
