/** Lets a task live through events; the events that most stories are made of. */
import { SekishoError } from "@sekisho/contracts/errors.ts";
import type {
  CallAct,
  CallFailure,
  TaskEffect,
  TaskEvent,
} from "@sekisho/verification/task/events.ts";
import { next } from "@sekisho/verification/task/machine.ts";
import type { Policy } from "@sekisho/verification/task/routing.ts";
import type { Task } from "@sekisho/verification/task/task.ts";
import { askedAtMs, samplePolicy, sampleTask } from "./sample.ts";

export const nowMs = askedAtMs + 1000;
export const woken = { type: "woken", nowMs, workerDied: false } as const;
export const workerDied = { type: "woken", nowMs, workerDied: true } as const;
export const announced = { type: "announced", nowMs, ts: "1.1" } as const;
export const success = {
  type: "answered",
  nowMs,
  act: "send",
  result: { status: "success", response_text: "A checkpoint." },
} as const;
export const accepted = {
  type: "answered",
  nowMs,
  act: "send",
  result: { status: "accepted", task_id: "t-1" },
} as const;
/** Announced, and then sent. */
export const toSent = [woken, announced, woken] as const;
type Answered = Extract<TaskEvent, { type: "answered" }>;
type Failure = Extract<TaskEvent, { type: "call_failed" }>;

export const ambiguous = failure({ reason: "ambiguous" });
export const unavailable = failure({ reason: "unavailable" });

type GivenFailure = Pick<CallFailure, "reason"> & Partial<CallFailure>;

/** Has the certainty that an error of this reason has by default. */
export function failure(error: GivenFailure, atMs = nowMs): Failure {
  return {
    type: "call_failed",
    nowMs: atMs,
    act: "send",
    error: { lost: false, certainty: new SekishoError(error.reason).certainty, ...error },
  };
}

/** The same as the answer to a look-up. */
export function lookedUp(event: Failure): Failure {
  return { ...event, act: "poll" };
}

/** The agent asks. */
export function asking(
  question: Partial<Extract<Answered["result"], { status: "input_required" }>> = {},
  { act = "poll", atMs = nowMs }: { act?: CallAct; atMs?: number } = {},
): Answered {
  const options = [
    { id: "yes", label: "Yes" },
    { id: "no", label: "No" },
  ];
  const result = {
    status: "input_required",
    task_id: "t-1",
    prompt: "Shall I?",
    options,
    ...question,
  } as const;
  return { type: "answered", nowMs: atMs, act, result };
}

/** What follows an act where nothing out of the way happens, and nobody else is there. */
const dull: { [E in TaskEffect["type"]]?: (atMs: number) => TaskEvent } = {
  permit: (atMs) => ({ type: "permitted", nowMs: atMs, allowed: true, locale: "en" }),
  give_reply: (atMs) => ({ type: "reply_given", nowMs: atMs, decision: "none" }),
  charge: () => ({ type: "charged", over: undefined }),
  join_thread: (atMs) => ({
    type: "thread_joined",
    nowMs: atMs,
    queuePosition: 0,
    freeAtMs: atMs,
    routes: [],
  }),
  hold_thread: () => ({ type: "thread_held" }),
  leave_thread: () => ({ type: "thread_left" }),
};

/** The events of a story that stand for themselves, since they are how one of the dull acts ended. */
const toldTypes: readonly TaskEvent["type"][] = [
  "permitted",
  "reply_given",
  "charged",
  "thread_joined",
  "thread_full",
  "thread_held",
];

/** Lets the events happen one after the other; gives the record and what each step asked for. */
export function play(
  events: readonly TaskEvent[],
  { task = sampleTask(), policy = samplePolicy() }: { task?: Task; policy?: Policy } = {},
) {
  const effectLists: TaskEffect[][] = [];
  let current = task;
  for (const [index, event] of events.entries()) {
    const atMs = "nowMs" in event ? event.nowMs : nowMs;
    const following = events[index + 1];
    const isTold = (act: TaskEffect["type"]) =>
      following !== undefined &&
      toldTypes.includes(following.type) &&
      typeOf(dull[act]) === typeOf(following);
    let step = next({ task: current, event, policy });
    for (;;) {
      const [effect] = step.effects;
      const dullEvent = effect && dull[effect.type];
      if (effect === undefined || dullEvent === undefined || isTold(effect.type)) break;
      step = next({ task: step.task, event: dullEvent(atMs), policy });
    }
    current = step.task;
    effectLists.push(step.effects);
  }
  return { task: current, asked: effectLists, last: effectLists.at(-1) ?? [] };
}

/** A thread that is full is a place in it, too. */
function typeOf(event: TaskEvent | ((atMs: number) => TaskEvent) | undefined): string | undefined {
  const type = (typeof event === "function" ? event(nowMs) : event)?.type;
  return type === "thread_full" ? "thread_joined" : type;
}

/** The same for what each step asked for, by type. */
export function typesOf(effectLists: readonly (readonly TaskEffect[])[]): string[][] {
  return effectLists.map((effects) => effects.map(({ type }) => type));
}
