/** Lets a task live through events; the events that most stories are made of. */
import type { CallFailure, TaskEffect, TaskEvent } from "../../../lambdas/verification/task/events.ts";
import { next } from "../../../lambdas/verification/task/machine.ts";
import type { Policy } from "../../../lambdas/verification/task/policy.ts";
import type { Task } from "../../../lambdas/verification/task/task.ts";
import { askedAtMs, samplePolicy, sampleTask } from "./sample.ts";

export const nowMs = askedAtMs + 1000;
export const woken = { type: "woken", nowMs, resumed: false } as const;
export const resumed = { type: "woken", nowMs, resumed: true } as const;
export const announced = { type: "announced", nowMs, ts: "1.1" } as const;
export const success = {
  type: "answered",
  nowMs,
  result: { status: "success", response_text: "A checkpoint." },
} as const;
export const accepted = { type: "answered", nowMs, result: { status: "accepted", task_id: "t-1" } } as const;
type Failure = Extract<TaskEvent, { type: "call_failed" }>;

export const ambiguous = failure({ reason: "ambiguous", retryable: false });
export const unavailable = failure({ reason: "unavailable", retryable: true });

function alone(atMs: number): TaskEvent {
  return { type: "lined_up", nowMs: atMs, ahead: 0, freeAtMs: atMs };
}

type GivenFailure = Pick<CallFailure, "reason" | "retryable"> & Partial<CallFailure>;

export function failure(error: GivenFailure, atMs = nowMs): Failure {
  return { type: "call_failed", nowMs: atMs, act: "send", error: { lost: false, undelivered: false, ...error } };
}

/** The same as the answer to a look-up. */
export function lookedUp(event: Failure): Failure {
  return { ...event, act: "poll" };
}

/** Lets the events happen one after the other, in a thread with nobody else; gives the record and what each step asked for. */
export function play(
  events: TaskEvent[],
  { task = sampleTask(), policy = samplePolicy() }: { task?: Task; policy?: Policy } = {},
) {
  const asked: TaskEffect[][] = [];
  let current = task;
  for (const event of events) {
    let step = next({ task: current, event, policy });
    const [effect] = step.effects;
    const atMs = "nowMs" in event ? event.nowMs : nowMs;
    if (effect?.type === "line_up") step = next({ task: step.task, event: alone(atMs), policy });
    if (effect?.type === "leave_thread") step = next({ task: step.task, event: { type: "left_thread" }, policy });
    current = step.task;
    asked.push(step.effects);
  }
  return { task: current, asked, last: asked.at(-1) ?? [] };
}
