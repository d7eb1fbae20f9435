/** Describes the events of a task for people: on the local page, on the operators' page, and in `sekisho tasks show`. */
import type { TaskEvent } from "@sekisho/verification/task/events.ts";

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

const names: Record<EventName | "asked" | "files_too_late", string> = {
  asked: "message queued",
  woken: "worker claimed the task",
  permitted: "permission checked",
  refusal_shown: "refusal shown to the user",
  reply_given: "open question looked up",
  charged: "quota charged",
  thread_opened: "thread opened",
  prepared: "history and files gathered",
  file_refused: "file refused",
  progress_shown: "progress shown",
  thread_held: "thread held for the reply",
  question_asked: "question posted",
  question_shown: "question updated",
  uploaded: "file uploaded",
  fetch_timed_out: "the address of a file timed out",
  transfer_busy: "destination has its share of file transfers",
  thread_joined: "joined the queue of the thread",
  thread_full: "queue of the thread is full",
  no_route: "no route fits the message",
  thread_left: "left the queue of the thread",
  thread_canceled: "tasks of the thread canceled",
  help_written: "help written",
  message_read: "message read again",
  message_edited: "message edited, or completed with its files, before it was sent",
  message_deleted: "message deleted before it was sent",
  files_too_late: "files of the message came too late",
  busy: "destination is at its concurrency limit",
  cancel_asked: "cancel requested",
  announced: "placeholder posted",
  answered: "Execution zone responded",
  call_failed: "call failed",
  slack_failed: "Slack call failed",
  canceled: "canceled in the Execution zone",
  share_refused: "Slack refused to share the files",
  delivered: "outcome posted",
  cleaned_up: "thread checked",
  leftovers_found: "leftover posts found",
  step_failed: "internal error",
  dead_lettered: "wake-up became a dead letter",
  redriven: "redriven by an operator",
};

const replies: Record<Extract<TaskEvent, { type: "reply_given" }>["decision"], string> = {
  taken: "reply to the open question",
  none: "no open question in the thread",
  not_yours: "the open question is for someone else",
  says_nothing: "empty reply to the open question",
  use_buttons: "reply in words to a question that needs a click",
};

const detailed: Detailed = {
  woken: ({ workerDied }) => (workerDied ? "worker took over from one that died" : names.woken),
  permitted: ({ allowed }) => (allowed ? "user is allowed" : "user is not allowed"),
  reply_given: ({ decision }) => replies[decision],
  charged: ({ over }) => (over === undefined ? names.charged : `over the quota of the ${over.by}`),
  prepared: ({ context: { history = [], attachments = [] } }) =>
    `gathered ${count(history.length, "earlier message")} and ${count(attachments.length, "file")}`,
  uploaded: ({ fileId }) => (fileId === undefined ? "file upload failed" : names.uploaded),
  thread_joined: ({ queuePosition }) =>
    queuePosition === 0
      ? "first in the thread"
      : `waiting for ${count(queuePosition, "task")} in the thread`,
  thread_canceled: ({ count: tasks }) => `${count(tasks, "task")} of the thread canceled`,
  answered: ({ result }) => `${names.answered} "${result.status}"`,
  call_failed: ({ error }) => `${names.call_failed} (${error.reason})`,
  slack_failed: ({ kind }) => `${names.slack_failed} (${kind})`,
};

function count(number: number, one: string): string {
  return `${number} ${one}${number === 1 ? "" : "s"}`;
}
