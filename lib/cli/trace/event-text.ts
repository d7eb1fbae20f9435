/** Describes the events of a task for people: on the local page, on the operators' page, and in `sekisho trace`. */
import type { TaskEvent } from "../../../lambdas/verification/task/events.ts";

type EventName = TaskEvent["type"];
type Detailed = { [Name in EventName]?: (event: Extract<TaskEvent, { type: Name }>) => string };

/** The title of a step. Other code reads the state behind the arrow. */
export function formatStepTitle({ text, state }: { text: string; state: string }): string {
  return `${text} → ${state}`;
}

/** With the details of the event. */
export function describeEvent(event: TaskEvent): string {
  const describe = detailed[event.type] as ((event: TaskEvent) => string) | undefined;
  return describe?.(event) ?? names[event.type];
}

/** Describes an event by its name alone, as a record's history has it. A name of another version is shown as it is. */
export function describeEventName(name: string): string {
  return Object.hasOwn(names, name) ? names[name as EventName] : name.replaceAll("_", " ");
}

const names: Record<EventName | "asked", string> = {
  asked: "message is in the queue",
  woken: "worker claims the task",
  permitted: "permission is looked up",
  refusal_shown: "the person sees the refusal",
  reply_given: "the thread's open question is looked up",
  charged: "counted for the quotas",
  thread_opened: "a thread is opened",
  prepared: "history and files are gathered",
  file_refused: "a file cannot be sent",
  progress_shown: "progress is in the thread",
  thread_held: "the thread waits for an answer",
  question_asked: "question is in the thread",
  question_shown: "question shows its answer",
  uploaded: "a file is uploaded",
  thread_joined: "task has joined the thread's queue",
  thread_full: "too many wait in the thread",
  thread_left: "next task of the thread may begin",
  thread_canceled: "other tasks of the thread are canceled",
  message_read: "message is read again",
  message_edited: "message is edited before it is sent",
  message_deleted: "message is deleted before it is sent",
  busy: "destination is at its limit of calls",
  cancel_asked: "somebody cancels it",
  announced: "placeholder is in the thread",
  answered: "Execution zone answered",
  call_failed: "call failed",
  slack_failed: "Slack call failed",
  canceled: "canceled at the Execution zone",
  share_refused: "files cannot be shared in the thread",
  delivered: "answer is in the thread",
  cleaned_up: "thread is checked once more",
  leftovers_found: "thread has posts that do not belong there",
  step_failed: "our own code failed on its data",
  dead_lettered: "queue gave up on the wake-up",
  redriven: "operator redrives it",
};

const replies: Record<Extract<TaskEvent, { type: "reply_given" }>["decision"], string> = {
  taken: "it is the answer that the thread waits for",
  none: "the thread waits for no answer",
  not_yours: "the thread waits for somebody else's answer",
  says_nothing: "the thread waits for an answer, and this is empty",
};

const detailed: Detailed = {
  woken: ({ resumed }) => (resumed ? "worker takes over from one that died" : names.woken),
  permitted: ({ allowed }) => (allowed ? "the person is allowed" : "the person is not allowed"),
  reply_given: ({ decision }) => replies[decision],
  charged: ({ over }) => (over === undefined ? names.charged : `over the limit of that ${over.by}`),
  prepared: ({ context: { history = [], attachments = [] } }) =>
    `with ${history.length} earlier messages and ${attachments.length} files`,
  uploaded: ({ fileId }) => (fileId === undefined ? "a file cannot be uploaded" : names.uploaded),
  thread_joined: ({ queuePosition }) =>
    queuePosition === 0 ? "first in the thread's queue" : `waits for ${queuePosition} tasks of its thread`,
  thread_canceled: ({ count }) => `${count} tasks of the thread are canceled`,
  answered: ({ result }) => `${names.answered} "${result.status}"`,
  call_failed: ({ error }) => `${names.call_failed} (${error.reason})`,
  slack_failed: ({ kind }) => `${names.slack_failed} (${kind})`,
};
