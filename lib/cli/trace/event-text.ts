/** What happened to a task, in a person's words: the same on the local page, for operators, and in `sekisho trace`. */
import type { TaskEvent } from "../../../lambdas/verification/task/events.ts";

type EventName = TaskEvent["type"];
type Known = { [Name in EventName]?: (event: Extract<TaskEvent, { type: Name }>) => string };

/** A step's title. Readers find the state behind the arrow. */
export function formatStepTitle({ words, state }: { words: string; state: string }): string {
  return `${words} → ${state}`;
}

/** With what the event itself says. */
export function describeEvent(event: TaskEvent): string {
  const tell = known[event.type] as ((event: TaskEvent) => string) | undefined;
  return tell?.(event) ?? names[event.type];
}

/** Where only the event's name was kept, as in a record's history; a name of another version stands for itself. */
export function describeEventName(name: string): string {
  return Object.hasOwn(names, name) ? names[name as EventName] : name.replaceAll("_", " ");
}

const names: Record<EventName | "asked", string> = {
  asked: "message is in the queue",
  woken: "worker claims the task",
  permitted: "looked up whether the person may ask",
  refusal_shown: "person is told, or was told before",
  reply_given: "looked up whether the thread waits for it",
  charged: "counted",
  thread_opened: "a thread for it is open",
  prepared: "what goes along is ready",
  file_refused: "a file cannot be taken along",
  progress_shown: "progress is in the thread",
  thread_held: "the thread waits for an answer",
  question_asked: "question is in the thread",
  question_shown: "question shows its answer",
  uploaded: "a file is uploaded",
  thread_joined: "has its place in the thread",
  thread_full: "too many wait in the thread",
  thread_left: "left the thread to the next",
  thread_canceled: "asked others of the thread to end",
  message_read: "message read again",
  busy: "destination has all its calls under way",
  cancel_asked: "somebody wants it to end",
  announced: "placeholder is in the thread",
  answered: "Execution zone answered",
  call_failed: "call failed",
  slack_failed: "Slack call failed",
  canceled: "canceled at the Execution zone",
  share_refused: "files may not be shown in the thread",
  delivered: "answer is in the thread",
  cleaned_up: "thread looked at once more",
  step_failed: "our own code failed on its data",
  dead_lettered: "queue gave up on the wake-up",
  redriven: "operator wants the task to go on",
};

const decisions: Record<Extract<TaskEvent, { type: "reply_given" }>["decision"], string> = {
  taken: "it is the answer that the thread waits for",
  none: "the thread waits for no answer",
  not_yours: "the thread waits for somebody else's answer",
  says_nothing: "the thread waits for an answer, and this says nothing",
};

const known: Known = {
  woken: ({ resumed }) => (resumed ? "worker takes over from one that died" : names.woken),
  permitted: ({ allowed }) => (allowed ? "the person may ask" : "the person may not ask"),
  reply_given: ({ decision }) => decisions[decision],
  charged: ({ over }) => (over === undefined ? names.charged : `over the limit of that ${over.by}`),
  prepared: ({ context: { history = [], attachments = [] } }) =>
    `goes with ${history.length} earlier messages and ${attachments.length} files`,
  uploaded: ({ fileId }) => (fileId === undefined ? "a file cannot be uploaded" : names.uploaded),
  thread_joined: ({ queuePosition }) =>
    queuePosition === 0 ? "it is its turn in the thread" : `waits for ${queuePosition} of its thread`,
  thread_canceled: ({ count }) => `asked ${count} of the thread to end`,
  answered: ({ result }) => `${names.answered} "${result.status}"`,
  call_failed: ({ error }) => `${names.call_failed} (${error.reason})`,
  slack_failed: ({ kind }) => `${names.slack_failed} (${kind})`,
};
