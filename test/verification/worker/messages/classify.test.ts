import { describe, expect, it } from "@jest/globals";
import type {
  AskMessage,
  MessageChange,
  TaskMessage,
} from "@sekisho/verification/task/messages.ts";
import type { Task } from "@sekisho/verification/task/task.ts";
import { classify, type Decision } from "@sekisho/verification/worker/messages/classify.ts";
import { askedAtMs as nowMs, sampleAsk, sampleFile, sampleTask } from "../../task/sample.ts";

const ask = sampleAsk();
const { requestId } = ask;
const editedTs = "1760000001.000000";
const wake = (changes = {}) => ({ type: "wake", requestId, seq: 3, ...changes }) as const;
const cancel = { type: "cancel", requestId } as const;
const redrive = { type: "redrive", requestId } as const;
const threadFree = { type: "thread_free", requestId } as const;
const edit: MessageChange = {
  ...ask,
  type: "message_change",
  message: { ...ask.message, text: "another", editedTs },
};
const deletion: MessageChange = { ...ask, type: "message_change", isDeleted: true };
const files: MessageChange = {
  ...ask,
  type: "message_change",
  message: { ...ask.message, files: [sampleFile] },
};

const heldLease = { owner: "other", untilMs: nowMs + 60_000 };
const expiredLease = { owner: "dead", untilMs: nowMs };
const leaseEndMs = 60_250;
const wokenEvent = { type: "woken", nowMs, workerDied: false } as const;
const workerDiedEvent = { ...wokenEvent, workerDied: true } as const;

type Expected = Partial<Decision>;
type Row = [title: string, message: TaskMessage, task: Partial<Task>, decision: Expected];

const run = (decision: Partial<Extract<Decision, { type: "run" }>>): Expected => ({
  type: "run",
  event: wokenEvent,
  mayLook: false,
  noticeFollows: false,
  ...decision,
});
const drop = { type: "drop" } as const;
const group = ask.message.team;
const defer = (message: TaskMessage, delayMs: number): Expected => ({
  type: "defer",
  copy: { message, delayMs, group },
});

const superseded: Row[] = [
  ["drops a wake-up below the record's number", wake({ seq: 2 }), {}, drop],
  ["drops it although its lease has expired", wake({ seq: 2 }), { lease: expiredLease }, drop],
  ["drops a wake-up of a step that another worker stored", wake({ key: "a" }), {}, drop],
  ["drops a message whose task has gone on", ask, {}, drop],
];

const free: Row[] = [
  [
    "looks first for a wake-up",
    wake({ polls: 4 }),
    {},
    run({ event: { ...wokenEvent, polls: 4 }, mayLook: true }),
  ],
  [
    "claims first for a copy of a wake-up",
    wake({ early: 1 }),
    {},
    run({ event: { ...wokenEvent, polls: undefined } }),
  ],
  [
    "takes the step with the record's key",
    wake({ key: "k" }),
    { wakeKey: "k" },
    run({ event: { ...wokenEvent, polls: undefined }, mayLook: true }),
  ],
  ["runs a message that is new to the record", ask, { wakeSeq: 0 }, run({})],
  [
    "runs an edit before the send",
    edit,
    { state: "queued" },
    run({ event: { type: "message_edited", message: edit.message, nowMs, workerDied: false } }),
  ],
  [
    "runs a deletion before the send",
    deletion,
    { state: "announced" },
    run({ event: { type: "message_deleted", nowMs, workerDied: false } }),
  ],
  [
    "runs a cancel",
    cancel,
    { state: "waiting" },
    run({ event: { type: "cancel_asked", nowMs, workerDied: false } }),
  ],
  [
    "runs a redrive of a finished task",
    redrive,
    { state: "done" },
    run({ event: { type: "redriven", nowMs, workerDied: false } }),
  ],
  ["runs the turn of a queued task", threadFree, { state: "queued" }, run({})],
  ["drops the turn of a task that has begun", threadFree, { state: "waiting" }, drop],
  ["drops a cancel of a task with an outcome", cancel, { state: "delivering" }, drop],
  ["says that an edit is late", edit, { state: "sent" }, { type: "notice", change: edit }],
  [
    "says that a deletion is late",
    deletion,
    { state: "waiting" },
    { type: "notice", change: deletion },
  ],
  ["says that files are late", files, { state: "sent" }, { type: "notice", change: files }],
];

const underLease: Row[] = [
  ["defers a wake-up to the end of the lease", wake(), {}, defer(wake(), leaseEndMs)],
  [
    "defers the next wake-up until the record is saved",
    wake({ seq: 4 }),
    {},
    defer(wake({ seq: 4, early: 1 }), 100),
  ],
  ["doubles the delay", wake({ seq: 4, early: 3 }), {}, defer(wake({ seq: 4, early: 4 }), 800)],
  [
    "never defers beyond the lease",
    wake({ seq: 4, early: 40 }),
    {},
    defer(wake({ seq: 4, early: 41 }), leaseEndMs),
  ],
  [
    "asks the host to cancel a running task, and defers the message for a second",
    cancel,
    { state: "waiting" },
    {
      type: "cancel_running",
      copy: { message: { ...cancel, early: 1 }, delayMs: 1000, group },
    },
  ],
  [
    "defers a cancel of a task that is not sent for a second",
    cancel,
    { state: "queued" },
    defer({ ...cancel, early: 1 }, 1000),
  ],
  [
    "defers a late cancel to the end of the lease",
    cancel,
    { state: "done" },
    defer(cancel, leaseEndMs),
  ],
  [
    "defers a late turn to the end of the lease",
    threadFree,
    { state: "sent" },
    defer(threadFree, leaseEndMs),
  ],
  ["defers an edit for a second", edit, { state: "queued" }, defer({ ...edit, early: 1 }, 1000)],
  ["defers a late edit for a second", edit, { state: "sent" }, defer({ ...edit, early: 1 }, 1000)],
  [
    "adds files before the send",
    files,
    { state: "announced" },
    { type: "add_files", change: files },
  ],
  ["defers late files for a second", files, { state: "sent" }, defer({ ...files, early: 1 }, 1000)],
];

const afterDeath: Row[] = [
  [
    "claims first for a wake-up",
    wake(),
    {},
    run({ event: { ...workerDiedEvent, polls: undefined } }),
  ],
  [
    "wakes the task for a late cancel",
    cancel,
    { state: "delivering" },
    run({ event: workerDiedEvent }),
  ],
  [
    "wakes the task for a late turn",
    threadFree,
    { state: "waiting" },
    run({ event: workerDiedEvent }),
  ],
  [
    "wakes the task for a late edit, and owes the notice",
    edit,
    { state: "sent" },
    run({ event: workerDiedEvent, noticeFollows: true }),
  ],
  [
    "runs an edit before the send",
    edit,
    { state: "queued" },
    run({ event: { type: "message_edited", message: edit.message, nowMs, workerDied: true } }),
  ],
];

describe.each([
  ["a message that is superseded", superseded, undefined],
  ["a task without a lease", free, undefined],
  ["a task under the lease of another worker", underLease, heldLease],
  ["a task whose worker has died", afterDeath, expiredLease],
])("%s", (_name, rows, lease) => {
  it.each(rows)("%s", (_title, message, changes, decision) => {
    const task = sampleTask({ wakeSeq: 3, ...(lease && { lease }), ...changes });
    const classified = classify({ type: "recorded", message, task, nowMs });
    expect(classified).toEqual({ ...decision, ...("task" in classified && { task }) });
  });
});

const reply: AskMessage = { ...ask, message: { ...ask.message, unaddressed: true } };
const unknownThread = { type: "unknown_thread", message: reply, isUndecided: false } as const;
const claimedTask = { ...sampleTask(), lease: heldLease };

it.each<[string, Parameters<typeof classify>[0], Expected]>([
  [
    "begins a task whose record it has created",
    { type: "created", message: ask, task: claimedTask, nowMs },
    run({ task: claimedTask, record: claimedTask }),
  ],
  [
    "looks again for the thread of a reply",
    { ...unknownThread, nowMs },
    defer({ ...reply, looks: 1 }, 30_000),
  ],
  [
    "drops a reply whose thread it does not know after four looks",
    { ...unknownThread, message: { ...reply, looks: 4 }, nowMs },
    drop,
  ],
  [
    "looks on while the message that asked is undecided",
    { ...unknownThread, message: { ...reply, looks: 9 }, isUndecided: true, nowMs },
    defer({ ...reply, looks: 10 }, 1_800_000),
  ],
  ["drops a message of a person who may not ask", { type: "ignored", message: ask, nowMs }, drop],
  ["drops a deleted message", { type: "deleted", message: deletion, nowMs }, drop],
  ["drops a message without a record", { type: "unrecorded", message: wake(), nowMs }, drop],
])("%s", (_title, facts, decision) => {
  expect(classify(facts)).toEqual(decision);
});
