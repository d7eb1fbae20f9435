import { describe, expect, it } from "@jest/globals";
import { type Certainty, reasons } from "@sekisho/contracts/errors.ts";
import { takeAnswer } from "@sekisho/verification/task/asking.ts";
import { isUnsent } from "@sekisho/verification/task/edited.ts";
import type {
  CallAct,
  Act as MachineAct,
  MessageRead,
  TaskEffect,
  TaskEvent,
} from "@sekisho/verification/task/events.ts";
import { next } from "@sekisho/verification/task/machine.ts";
import type { UserMessage } from "@sekisho/verification/task/messages.ts";
import { mayHaveArrived } from "@sekisho/verification/task/routing.ts";
import { type Task, taskSchema } from "@sekisho/verification/task/task.ts";
import fc from "fast-check";
import { forAll } from "../../doubles/for-all.ts";
import { accepted, announced, asking, nowMs, success } from "./play.ts";
import { samplePolicy, sampleTask } from "./sample.ts";

type Act = MachineAct["type"];

const certainties: readonly Certainty[] = [
  "undelivered",
  "refused",
  "guessed",
  "unread",
  "ended",
  "unknown",
];
const anyFailure = fc.record({
  reason: fc.constantFrom(...reasons, "ambiguous" as const),
  certainty: fc.constantFrom(...certainties),
  lost: fc.boolean(),
});
const slackFailure = (act: Act) =>
  fc
    .constantFrom("gone", "no_such_message", "refused", "rate_limited", "unavailable", "ambiguous")
    .map((kind) => ({ type: "slack_failed", nowMs, act, kind }) as TaskEvent);
const always = (event: TaskEvent) => fc.constant(event);
const busy = always({ type: "busy", delayMs: 100 });
const transferBusy = always({ type: "transfer_busy", nowMs, delayMs: 100 });
const file = { id: "F1", name: "plan.pdf", mimetype: "application/pdf", size: 10 };
const attachment = { ...file, url: "https://files.example/F1" };
const history = [{ role: "user" as const, text: "Earlier." }];

function callOf(act: CallAct): fc.Arbitrary<TaskEvent> {
  const progress = { text: "half", partial_text: "A check" };
  const artifacts = [{ name: "a.csv", text: "1,2" }];
  return fc.oneof(
    busy,
    always({ ...success, act }),
    always({ ...success, act, result: { ...success.result, artifacts } }),
    always({ ...accepted, act }),
    always({ ...accepted, act, result: { ...accepted.result, progress } }),
    fc
      .record({
        question_id: fc.option(fc.constantFrom("q1", "q2"), { nil: undefined }),
        auth: fc.boolean(),
      })
      .map(({ question_id, auth }) =>
        asking({ question_id, ...(auth ? { kind: "auth" } : {}) }, { act }),
      ),
    anyFailure.map((error): TaskEvent => ({ type: "call_failed", nowMs, act, error })),
  );
}

/** How each act may end. */
const outcomes: Record<Act, fc.Arbitrary<TaskEvent>> = {
  permit: fc.oneof(
    fc
      .boolean()
      .map(
        (isAllowed): TaskEvent => ({ type: "permitted", nowMs, allowed: isAllowed, locale: "en" }),
      ),
    slackFailure("permit"),
  ),
  refuse: always({ type: "refusal_shown" }),
  give_reply: fc.oneof(
    busy,
    fc
      .constantFrom("none", "none", "taken", "not_yours", "says_nothing")
      .map((decision) => ({ type: "reply_given", nowMs, decision }) as TaskEvent),
  ),
  charge: fc
    .option(
      fc.constantFrom<{ by: "user"; retryAtMs?: number }>(
        { by: "user" },
        { by: "user", retryAtMs: nowMs },
      ),
    )
    .map((over): TaskEvent => ({ type: "charged", over: over ?? undefined })),
  open_thread: fc.oneof(
    always({ type: "thread_opened", threadRef: { channel: "D1", threadTs: "5.5" } }),
    slackFailure("open_thread"),
  ),
  join_thread: fc.oneof(
    fc.nat({ max: 2 }).map(
      (queuePosition): TaskEvent => ({
        type: "thread_joined",
        nowMs,
        queuePosition,
        freeAtMs: nowMs + 1000,
        routes: [],
      }),
    ),
    always({ type: "thread_full" }),
    always({ type: "no_route" }),
  ),
  leave_thread: always({ type: "thread_left" }),
  cancel_thread: fc
    .tuple(fc.nat({ max: 2 }), fc.boolean())
    .map(([count, isRepeated]): TaskEvent => ({ type: "thread_canceled", count, isRepeated })),
  write_help: always({ type: "help_written", text: "I can help." }),
  read_message: fc.oneof(
    fc
      .constantFrom<MessageRead>(
        { lack: "message" },
        { lack: "files" },
        { text: "", files: [] },
        { text: "Again.", files: [{ id: "F9", name: "a.txt", mimetype: "text/plain", size: 1 }] },
      )
      .map((content): TaskEvent => ({ type: "message_read", nowMs, ...content })),
    slackFailure("read_message"),
  ),
  announce: fc.oneof(always(announced), slackFailure("announce")),
  prepare: fc.oneof(
    // With every file of the message, as the record has it, or without.
    fc.boolean().map(
      (isWhole): TaskEvent => ({
        type: "prepared",
        context: { history, attachments: isWhole ? [attachment] : [] },
      }),
    ),
    always({
      type: "file_refused",
      outcome: { type: "file_refused", why: "too_many", name: "a", most: 1 },
    }),
    transferBusy,
    slackFailure("prepare"),
  ),
  send: callOf("send"),
  poll: callOf("poll"),
  answer: callOf("answer"),
  cancel: fc.oneof(
    busy,
    always({ type: "canceled", nowMs }),
    anyFailure.map((error): TaskEvent => ({ type: "call_failed", nowMs, act: "cancel", error })),
  ),
  show_progress: fc
    .constantFrom<Extract<TaskEvent, { type: "progress_shown" }>["shown"]>(
      {},
      { inDoubt: true },
      { delayMs: 30_000 },
      { stream: { messages: [{ ts: "7.7", startedAtMs: nowMs }], length: 7 } },
      { stream: { messages: [], length: 0, refused: true } },
    )
    .map((progress): TaskEvent => ({ type: "progress_shown", nowMs, shown: progress })),
  hold_thread: always({ type: "thread_held" }),
  ask_question: fc.oneof(
    always({ type: "question_asked", nowMs, ts: "2.2" }),
    slackFailure("ask_question"),
  ),
  show_question: always({ type: "question_shown", nowMs }),
  upload: fc.oneof(
    fc
      .option(fc.constant("F1"), { nil: undefined })
      .map((fileId): TaskEvent => ({ type: "uploaded", index: 0, fileId })),
    transferBusy,
    always({ type: "fetch_timed_out", index: 0 }),
    slackFailure("upload"),
  ),
  deliver: fc.oneof(always({ type: "delivered" }), slackFailure("deliver")),
  check_thread: fc.oneof(
    always({ type: "cleaned_up" }),
    always({ type: "leftovers_found" }),
    slackFailure("check_thread"),
  ),
  clean_up: fc.oneof(always({ type: "cleaned_up" }), slackFailure("clean_up")),
};

/** Somebody answers the question that is open, as the record takes it. */
function answeredBySomebody(task: Task, atMs: number): Task {
  const answer = { user: "U1", atMs, option: 0, callId: `call-${task.question?.index}` };
  const answerResult = takeAnswer({ task, answer, nowMs: atMs });
  return "task" in answerResult ? answerResult.task : task;
}

describe("any sequence of events", () => {
  it("schedules a wake-up for every open task, acts one at a time and keeps its record storable", () => {
    const texts = fc.constantFrom("What is it?", "cancel", "");
    const messages = fc.record({
      text: texts,
      threadRef: fc.constantFrom<Partial<UserMessage>>(
        {},
        { threadTs: "1.1" },
        { threadTs: "1.1", unaddressed: true as const },
        { command: true as const },
      ),
      files: fc.constantFrom<Partial<UserMessage>>({}, { files: [file] }),
    });
    forAll(fc.gen(), fc.boolean(), messages).hold((gen, idempotent, { text, threadRef, files }) => {
      const policy = samplePolicy({ idempotent, threadReplies: gen(fc.boolean) });
      const message = { ...sampleTask().message, text, ...threadRef, ...files };
      let task = sampleTask({ message, ...gen(() => fc.constantFrom({}, { retryOf: "older" })) });
      let clockMs = nowMs;
      const sends: boolean[] = [];
      const late: boolean[] = [];
      const callIds: string[] = [];
      for (let steps = 0; steps < 80 && !task.cleanupDone; steps++) {
        const type = gen(() =>
          fc.constantFrom(
            "woken",
            "woken",
            "woken",
            "woken",
            "woken",
            "cancel_asked",
            "redriven" as const,
          ),
        );
        if (gen(fc.boolean)) task = answeredBySomebody(task, clockMs);
        const at = { nowMs: clockMs, workerDied: gen(fc.boolean) };
        const change = gen(() => fc.constantFrom("none", "none", "none", "edited", "deleted"));
        const event: TaskEvent =
          change === "none" || !isUnsent(task)
            ? { type, ...at }
            : change === "deleted"
              ? { type: "message_deleted", ...at }
              : { type: "message_edited", ...at, message: { ...message, text: gen(() => texts) } };
        let step = next({ task, event, policy });
        for (let acts = 0; ; acts++) {
          const act = step.effects.find(
            ({ type: name }) => name !== "wake" && name !== "stop_session",
          );
          if (act === undefined) break;
          // A step ends within the lease: so many acts one after the other, not without end.
          expect(acts).toBeLessThan(8);
          if (act.type === "send") sends.push(mayHaveArrived(step.task));
          if (act.type === "send") late.push(clockMs >= (step.task.call?.deadlineAtMs ?? 0));
          if (act.type === "send") expect(step.task.call?.params).toBeDefined();
          if (act.type === "answer") callIds.push(step.task.question?.answer?.callId ?? "nothing");
          if (act.type === "ask_question") expect(step.task.question?.answer).toBeUndefined();
          expect(step.effects).toHaveLength(1);
          const { question: oldQuestion } = step.task;
          const event = gen(() => outcomes[act.type as Act]);
          step = next({
            task: step.task,
            event: "nowMs" in event ? { ...event, nowMs: clockMs } : event,
            policy,
          });
          const { question: newQuestion } = step.task;
          // Of several questions one is open, and the next one has the next number.
          if (newQuestion !== oldQuestion)
            expect(newQuestion?.index).toBeLessThanOrEqual((oldQuestion?.index ?? -1) + 1);
        }
        task = step.task;
        expect(() => taskSchema.parse(JSON.parse(JSON.stringify(task)))).not.toThrow();
        const wake = step.effects.filter(({ type: name }) => name === "wake");
        expect(wake).toHaveLength(task.cleanupDone ? 0 : 1);
        if (task.state === "delivering") expect(task.outcome).toBeDefined();
        clockMs += gen(() => fc.constantFrom(0, 1000, 30_000, 1_800_000));
      }
      expect(late.filter(Boolean)).toEqual([]);
      expect(callIds).not.toContain("nothing");
      if (!idempotent) expect(sends.filter(Boolean)).toEqual([]);
    }, 500);
  });

  it("ends every task if Slack and the host recover at some time", () => {
    forAll(fc.gen(), fc.boolean(), fc.nat({ max: 30 })).hold((gen, idempotent, troubles) => {
      const policy = samplePolicy({ idempotent });
      let task = sampleTask({ message: { ...sampleTask().message, threadTs: "1.1" } });
      let clockMs = nowMs;
      for (let steps = 0; steps < 400 && !task.cleanupDone; steps++) {
        let step = next({
          task,
          event: { type: "woken", nowMs: clockMs, workerDied: false },
          policy,
        });
        for (;;) {
          const act = step.effects.find(
            ({ type: name }) => name !== "wake" && name !== "stop_session",
          );
          if (act === undefined) break;
          const event =
            steps < troubles ? gen(() => outcomes[act.type as Act]) : calm(act, step.task);
          step = next({
            task: step.task,
            event: "nowMs" in event ? { ...event, nowMs: clockMs } : event,
            policy,
          });
        }
        task = step.task;
        const [wake] = step.effects;
        clockMs += wake?.type === "wake" ? wake.delayMs : 0;
      }
      expect(task).toMatchObject({ state: "done", cleanupDone: true, textsErased: true });
    }, 200);
  });
});

/** How an act ends on a good day. */
function calm(act: TaskEffect, task: Task): TaskEvent {
  const ends: Partial<Record<TaskEffect["type"], TaskEvent>> = {
    permit: { type: "permitted", nowMs, allowed: true, locale: "en" },
    give_reply: { type: "reply_given", nowMs, decision: "none" },
    charge: { type: "charged", over: undefined },
    join_thread: { type: "thread_joined", nowMs, queuePosition: 0, freeAtMs: nowMs, routes: [] },
    leave_thread: { type: "thread_left" },
    announce: announced,
    prepare: { type: "prepared", context: {} },
    show_progress: { type: "progress_shown", nowMs, shown: {} },
    hold_thread: { type: "thread_held" },
    ask_question: { type: "question_asked", nowMs, ts: "2.2" },
    show_question: { type: "question_shown", nowMs },
    cancel: { type: "canceled", nowMs },
    upload: { type: "uploaded", index: 0, fileId: "F1" },
    deliver: { type: "delivered" },
    check_thread: { type: "cleaned_up" },
  };
  const asks = task.state === "asking" && task.question?.answer === undefined;
  if (act.type === "poll" && asks) return asking({ question_id: task.question?.id, kind: "auth" });
  const call =
    act.type === "send" || act.type === "poll" || act.type === "answer" ? act.type : undefined;
  const event = call === undefined ? ends[act.type] : { ...success, act: call };
  if (event === undefined) throw new Error(`no good day has ${act.type}`);
  return event;
}
