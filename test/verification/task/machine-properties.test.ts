import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { reasons } from "../../../contracts/errors.ts";
import type { TaskEvent } from "../../../lambdas/verification/task/events.ts";
import { next } from "../../../lambdas/verification/task/machine.ts";
import { taskSchema } from "../../../lambdas/verification/task/task.ts";
import { askedAtMs, samplePolicy, sampleTask } from "./sample.ts";

const nowMs = askedAtMs + 1000;
const announced = { type: "announced", nowMs, ts: "1.1" } as const;
const success = { type: "answered", nowMs, result: { status: "success", response_text: "A checkpoint." } } as const;
const accepted = { type: "answered", nowMs, result: { status: "accepted", task_id: "t-1" } } as const;

describe("whatever happens in whatever order", () => {
  const anyFailure = fc.record({
    reason: fc.constantFrom(...reasons, "ambiguous" as const),
    retryable: fc.boolean(),
    undelivered: fc.boolean(),
    lost: fc.boolean(),
  });
  const failed = (act: "send" | "poll" | "cancel") =>
    anyFailure.map((error): TaskEvent => ({ type: "call_failed", nowMs, act, error }));
  const outcomes: Record<string, fc.Arbitrary<TaskEvent>> = {
    line_up: fc.oneof(
      fc.nat({ max: 2 }).map((ahead): TaskEvent => ({ type: "lined_up", nowMs, ahead, freeAtMs: nowMs + 1000 })),
      fc.constant<TaskEvent>({ type: "thread_full" }),
    ),
    leave_thread: fc.constant<TaskEvent>({ type: "left_thread" }),
    cancel_thread: fc.nat({ max: 2 }).map((count): TaskEvent => ({ type: "thread_canceled", count })),
    read_message: fc
      .option(fc.constantFrom("", "Again."), { nil: undefined })
      .map((text): TaskEvent => ({ type: "message_read", nowMs, text })),
    announce: fc.oneof(fc.constant(announced), slackFailure()),
    send: fc.oneof(
      fc.constant<TaskEvent>({ type: "busy", delayMs: 100 }),
      fc.constant<TaskEvent>(success),
      fc.constant<TaskEvent>(accepted),
      failed("send"),
    ),
    poll: fc.oneof(
      fc.constant<TaskEvent>({ type: "busy", delayMs: 100 }),
      fc.constant<TaskEvent>(success),
      fc.constant<TaskEvent>(accepted),
      failed("poll"),
    ),
    cancel: fc.oneof(
      fc.constant<TaskEvent>({ type: "busy", delayMs: 100 }),
      fc.constant<TaskEvent>({ type: "canceled", nowMs }),
      failed("cancel"),
    ),
    deliver: fc.oneof(fc.constant<TaskEvent>({ type: "delivered" }), slackFailure()),
    sweep: fc.oneof(fc.constant<TaskEvent>({ type: "swept" }), slackFailure()),
  };
  function slackFailure(): fc.Arbitrary<TaskEvent> {
    return fc
      .constantFrom("gone", "no_such_message", "refused", "rate_limited", "unavailable", "ambiguous")
      .map((kind) => ({ type: "slack_failed", nowMs, kind }) as TaskEvent);
  }

  it("a task that is not over has its wake-up, acts one at a time, and its record is one that can be stored", () => {
    fc.assert(
      fc.property(fc.gen(), fc.boolean(), (gen, idempotent) => {
        const policy = samplePolicy({ idempotent });
        const text = gen(() => fc.constantFrom("What is it?", "cancel", ""));
        const message = { ...sampleTask().message, text, ...gen(() => fc.constantFrom({}, { threadTs: "1.1" })) };
        let task = sampleTask({ message, ...gen(() => fc.constantFrom({}, { retryOf: "older" })) });
        let clockMs = nowMs;
        const sends: boolean[] = [];
        const late: boolean[] = [];
        for (let steps = 0; steps < 60 && !task.swept; steps++) {
          const type = gen(() => fc.constantFrom("woken", "woken", "woken", "woken", "cancel_asked" as const));
          let step = next({ task, event: { type, nowMs: clockMs, resumed: gen(fc.boolean) }, policy });
          for (let acts = 0; acts < 6; acts++) {
            const act = step.effects.find(({ type }) => type !== "wake" && type !== "stop_session");
            if (act === undefined) break;
            if (act.type === "send") sends.push(step.task.mayHaveArrived);
            if (act.type === "send") late.push(clockMs >= (step.task.deadlineAtMs ?? 0));
            expect(step.effects).toHaveLength(1);
            const outcome = outcomes[act.type];
            if (outcome === undefined) throw new Error(`no outcome for ${act.type}`);
            const event = { ...gen(() => outcome) };
            step = next({ task: step.task, event: "nowMs" in event ? { ...event, nowMs: clockMs } : event, policy });
          }
          task = step.task;
          expect(() => taskSchema.parse(JSON.parse(JSON.stringify(task)))).not.toThrow();
          const wake = step.effects.filter(({ type }) => type === "wake");
          expect(wake).toHaveLength(task.swept ? 0 : 1);
          clockMs += gen(() => fc.constantFrom(0, 1000, 30_000));
        }
        expect(late.filter(Boolean)).toEqual([]);
        if (!idempotent) expect(sends.filter(Boolean)).toEqual([]);
      }),
      { numRuns: 500 },
    );
  });
});
