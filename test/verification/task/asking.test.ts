/** The agent's question to a person, in the record: open until it expires, answered once, brought under one id. */
import { describe, expect, it } from "@jest/globals";
import { takeAnswer } from "@sekisho/verification/task/asking.ts";
import type { TaskEvent } from "@sekisho/verification/task/events.ts";
import { next } from "@sekisho/verification/task/machine.ts";
import type { GivenAnswer, Task } from "@sekisho/verification/task/task.ts";
import {
  accepted,
  announced,
  asking,
  failure,
  nowMs,
  play,
  success,
  toSent,
  typesOf,
  woken,
  workerDied,
} from "./play.ts";
import { samplePolicy, sampleTask } from "./sample.ts";

const hourMs = 3600_000;
const questionAsked: TaskEvent = { type: "question_asked", nowMs, ts: "2.1" };
const questionShown: TaskEvent = { type: "question_shown", nowMs };
const yes: GivenAnswer = { user: "U1", atMs: nowMs + 5000, option: 0, callId: "call-1" };

/** The question is in the thread. */
function open(question: Parameters<typeof asking>[0] = {}, policy = samplePolicy()): Task {
  return play([...toSent, asking(question, { act: "send" }), woken, questionAsked], { policy })
    .task;
}

function takeReply(task: Task, answer = yes, atMs = answer.atMs): Task {
  const result = takeAnswer({ task, answer, nowMs: atMs });
  if ("notTaken" in result) throw new Error(`not taken: ${result.notTaken.type}`);
  return result.task;
}

const at = <E extends TaskEvent>(event: E, atMs: number) => ({ ...event, nowMs: atMs });
const answerCall = (event: ReturnType<typeof failure>) => ({ ...event, act: "answer" }) as const;
const answerSuccess: TaskEvent = { ...success, act: "answer" };

describe("a question of the agent", () => {
  it("records a question, holds its thread, asks it, and then waits until it expires", () => {
    const { asked, task } = play([
      ...toSent,
      asking({ question_id: "q" }),
      woken,
      { type: "thread_held" },
      questionAsked,
    ]);
    expect(typesOf(asked).slice(3)).toEqual([
      ["wake"],
      ["hold_thread"],
      ["ask_question"],
      ["wake"],
    ]);
    expect(asked.at(-1)).toEqual([{ type: "wake", delayMs: hourMs }]);
    expect(task).toMatchObject({
      state: "asking",
      call: { taskId: "t-1" },
      question: { index: 0, id: "q", ts: "2.1" },
    });
  });

  it("fails the task with a message if its question is missing from the record", () => {
    const { question: _question, ...task } = open();
    const { asked, task: endedTask } = play([woken, { type: "canceled", nowMs }], { task });
    expect(typesOf(asked)).toEqual([["cancel"], ["wake"]]);
    expect(endedTask).toMatchObject({
      state: "delivering",
      outcome: { type: "failed", reason: "timeout" },
    });
  });

  it("holds the thread for as long as the question may stay open and the task has time left afterwards", () => {
    const { task } = play([...toSent, asking()]);
    const { effects } = next({ task, event: woken, policy: samplePolicy() });
    // The question's hour, what is left of the minute that the task has, the host's own time, and the delivery's.
    expect(effects).toEqual([
      { type: "hold_thread", untilMs: nowMs + hourMs + 60_000 + 15_000 + 60_000 },
    ]);
  });

  it("a question expires when the host says so, but never later than the destination allows", () => {
    for (const [expiresMs, expectedMs] of [
      [60_000, 60_000],
      [2 * hourMs, hourMs],
      // A minute at least, whatever the clock of another zone says.
      [-5 * 60_000, 60_000],
    ] as const) {
      const expires_at = new Date(nowMs + expiresMs).toISOString();
      expect(open({ expires_at }).question?.expiresAtMs).toBe(nowMs + expectedMs);
    }
    expect(open({ expires_at: "soon" }).question?.expiresAtMs).toBe(nowMs + hourMs);
  });

  it("looks for an earlier post before asking again after a worker died or Slack left it in doubt", () => {
    const { task } = play([...toSent, asking()]);
    expect(play([workerDied], { task }).last).toEqual([{ type: "ask_question", reconcile: true }]);
    const doubt: TaskEvent = {
      type: "slack_failed",
      nowMs,
      act: "ask_question",
      kind: "ambiguous",
    };
    expect(play([woken, doubt, woken], { task }).last).toEqual([
      { type: "ask_question", reconcile: true },
    ]);
    expect(play([woken], { task }).last).toEqual([{ type: "ask_question", reconcile: false }]);
  });

  it("asks without blocks if Slack refuses them, and ends as unanswered if no post is possible", () => {
    const { task } = play([...toSent, asking(), woken]);
    const refusal: TaskEvent = {
      type: "slack_failed",
      nowMs,
      act: "ask_question",
      kind: "refused",
    };
    const plain = play([refusal, woken], { task });
    expect(plain.task).toMatchObject({ state: "asking", mrkdwnFallback: true });
    for (const kind of ["refused", "gone"] as const) {
      const over = play([{ type: "slack_failed", nowMs, act: "ask_question", kind }], {
        task: plain.task,
      });
      expect(over.last).toEqual([{ type: "cancel" }]);
      expect(play([{ type: "canceled", nowMs }], { task: over.task }).task.outcome).toEqual({
        type: "unanswered",
      });
    }
  });

  it("drops the agent's earlier progress when it asks, so that it is not shown again", () => {
    const { task } = play([...toSent, accepted, woken, asking()], {
      task: sampleTask({ progress: { text: "half", shownAtMs: nowMs - 5000 } }),
    });
    expect(task.progress).toBeUndefined();
  });
});

describe("an answer", () => {
  it("shows an answer in the question's message and then sends it to the agent", () => {
    const task = takeReply(open());
    expect(typesOf(play([woken, questionShown], { task }).asked)).toEqual([
      ["show_question"],
      ["answer"],
    ]);
    const over = play([woken, questionShown, answerSuccess], { task }).task;
    expect(over).toMatchObject({
      state: "delivering",
      outcome: { type: "answer", text: "A checkpoint." },
    });
  });

  it("accepts the first answer and reports its person and time to everyone later", () => {
    const task = takeReply(open());
    const late = takeAnswer({ task, answer: { ...yes, user: "U2" }, nowMs: nowMs + 9000 });
    expect(late).toEqual({ notTaken: { type: "answered", by: "U1", atMs: yes.atMs } });
  });

  it("refuses an answer to an expired question or to any question other than the open one", () => {
    const task = open();
    const give = (task: Task, index: number, atMs: number) =>
      takeAnswer({ task, index, answer: yes, nowMs: atMs });
    expect(give(task, 0, nowMs + hourMs)).toEqual({ notTaken: { type: "expired" } });
    expect(give(task, 1, nowMs)).toEqual({ notTaken: { type: "past" } });
    expect(give({ ...task, cancelReason: "asked" }, 0, nowMs)).toEqual({
      notTaken: { type: "expired" },
    });
    expect(give(sampleTask(), 0, nowMs)).toEqual({ notTaken: { type: "over" } });
  });

  it("extends the deadline by the time that the task waited for a person", () => {
    const task = open();
    expect(takeReply(task).call?.deadlineAtMs).toBe((task.call?.deadlineAtMs ?? 0) + 5000);
    expect(play([at(woken, nowMs + hourMs - 1)], { task }).task.cancelReason).toBeUndefined();
  });

  it("sends an answer again under the same id when its arrival is in doubt", () => {
    const task = takeReply(open());
    for (const error of [
      failure({ reason: "ambiguous" }),
      failure({ reason: "unavailable" }),
      failure({ reason: "invalid_response" }),
    ]) {
      const again = play([woken, questionShown, answerCall(error), woken], { task });
      expect(again.last).toEqual([{ type: "answer" }]);
      expect(again.task.question?.answer?.callId).toBe("call-1");
    }
    const stepAfterDeath = play([workerDied], { task });
    expect(stepAfterDeath.last).toEqual([{ type: "show_question" }]);
  });

  it("leaves no doubt if it certainly did not arrive", () => {
    const undelivered = failure({ reason: "invalid_response", certainty: "undelivered" });
    const { task } = play([woken, questionShown, answerCall(undelivered)], {
      task: takeReply(open()),
    });
    expect(task.question?.answer?.arrival).toBeUndefined();
  });

  it("counts repeated questions of the agent apart from failures", () => {
    const echo = asking({ question_id: "q" }, { act: "answer" });
    const { task } = play([woken, questionShown, echo], {
      task: takeReply(open({ question_id: "q" })),
    });
    const { task: later, last } = play([woken, asking({ question_id: "q" })], { task });
    expect(later).toMatchObject({ attempts: 0, question: { answer: { stillAskedTimes: 2 } } });
    expect(last).toEqual([{ type: "wake", delayMs: 2000 }]);
  });

  it("polls the task when the host no longer accepts the answer", () => {
    const over = answerCall(failure({ reason: "invalid_state" }));
    const { last } = play([woken, questionShown, over], { task: takeReply(open()) });
    expect(last).toEqual([{ type: "poll", by: "task_id" }]);
  });

  it("fails a task whose answer cannot be sent after a bounded number of tries", () => {
    const away = answerCall(failure({ reason: "unavailable" }));
    let { task } = play([woken, questionShown, away], { task: takeReply(open()) });
    for (let tries = 0; tries < 20; tries++) task = play([woken, away], { task }).task;
    expect(task.state).toBe("asking");
    const late = play([woken, at(away, (task.call?.deadlineAtMs ?? 0) + 15_000)], { task });
    expect(late.task.outcome).toMatchObject({ type: "failed", reason: "unavailable" });
    expect(late.last).toEqual([{ type: "cancel" }]);
    for (const reason of ["execution_failed", "task_not_found"] as const) {
      const endFailure = answerCall(failure({ reason }));
      const endedTask = play([woken, questionShown, endFailure], { task: takeReply(open()) }).task;
      expect(endedTask.outcome).toMatchObject({ type: "failed", reason });
    }
    const refusal = answerCall(failure({ reason: "permission_denied" }));
    let shut = play([woken, questionShown, refusal], { task: takeReply(open()) });
    for (let tries = 1; tries < 7; tries++) shut = play([woken, refusal], { task: shut.task });
    expect(shut.task.state).toBe("asking");
    expect(play([woken, refusal], { task: shut.task }).task.outcome).toMatchObject({
      reason: "permission_denied",
    });
  });
});

describe("a further question", () => {
  it("asks a further question in a message of its own, whether it comes with the answer or a later poll", () => {
    for (const [act, prompt] of [
      ["answer", "And that?"],
      ["poll", "And that?"],
      // The host has an id for each.
      ["answer", "Shall I?"],
    ] as const) {
      const first = takeReply(open({ question_id: "q1" }));
      const between: TaskEvent[] = act === "answer" ? [] : [{ ...accepted, act: "answer" }, woken];
      const next = asking({ question_id: "q2", prompt }, { act });
      const { task, last } = play([woken, questionShown, ...between, next, woken], { task: first });
      expect(task.question).toMatchObject({ index: 1, id: "q2", prompt });
      expect(task.question).not.toHaveProperty("ts");
      expect(task.question).not.toHaveProperty("answer");
      expect(last).toEqual([{ type: "ask_question", reconcile: false }]);
    }
  });
});

describe("an unanswered question", () => {
  const expiryWake = at(woken, nowMs + hourMs);

  it("cancels at the host when nobody answers and reports the task as unanswered unless a result came", () => {
    const { task, last } = play([expiryWake], { task: open() });
    expect(last).toEqual([{ type: "cancel" }]);
    const cancellation: TaskEvent = { type: "canceled", nowMs: expiryWake.nowMs };
    expect(play([cancellation], { task }).task.outcome).toEqual({ type: "unanswered" });
    const over = {
      ...failure({ reason: "invalid_state" }, expiryWake.nowMs),
      act: "cancel",
    } as const;
    const timeout = {
      ...failure({ reason: "timeout" }, expiryWake.nowMs),
      act: "poll",
    } as const;
    expect(play([over, timeout], { task }).task.outcome).toEqual({ type: "unanswered" });
    expect(
      play([over, at({ ...success, act: "poll" }, expiryWake.nowMs)], { task }).task.outcome,
    ).toMatchObject({
      type: "answer",
    });
  });

  it("cancels an open question's task at the request of its person", () => {
    const { task, last } = play([{ type: "cancel_asked", nowMs, workerDied: false }], {
      task: open(),
    });
    expect(last).toEqual([{ type: "cancel" }]);
    expect(play([{ type: "canceled", nowMs }], { task }).task.outcome).toMatchObject({
      reason: "canceled",
    });
  });
});

describe("missing credentials", () => {
  it("polls for missing credentials every 30 seconds until they exist or the question expires", () => {
    const task = open({ kind: "auth" });
    const look = play([woken], { task });
    expect(look.last).toEqual([{ type: "poll", by: "task_id" }]);
    expect(play([asking({ kind: "auth" })], { task: look.task }).last).toEqual([
      { type: "wake", delayMs: 30_000 },
    ]);
    expect(play([{ ...accepted, act: "poll" }], { task: look.task }).task.state).toBe("waiting");
    expect(play([at(woken, nowMs + hourMs)], { task }).last).toEqual([{ type: "cancel" }]);
  });

  it("treats a credentials question that changes its wording at every poll as one question with one end", () => {
    let task = open({ kind: "auth", prompt: "Sign in: /0", question_id: "q0" });
    const minuteMs = 60_000;
    for (let minute = 1; minute < 60; minute += 1) {
      const atMs = nowMs + minute * minuteMs;
      const words = {
        kind: "auth",
        prompt: `Sign in: /${minute}`,
        question_id: `q${minute}`,
      } as const;
      const look = play([at(woken, atMs), asking(words, { atMs })], { task });
      expect(look.last).toEqual([{ type: "show_question" }]);
      expect(look.task.question).toMatchObject({
        index: 0,
        ts: "2.1",
        prompt: words.prompt,
        id: words.question_id,
      });
      const shownAgain = play([{ type: "question_shown", nowMs: atMs }], { task: look.task });
      expect(shownAgain.last).toEqual([{ type: "wake", delayMs: 30_000 }]);
      task = shownAgain.task;
    }
    expect(play([at(woken, nowMs + hourMs)], { task }).last).toEqual([{ type: "cancel" }]);
  });
});

describe("a dead letter or redrive of a task with a question", () => {
  it("keeps an open question despite a dead letter and fails the task if it is expired", () => {
    const dead = (atMs: number): TaskEvent => ({ type: "dead_lettered", nowMs: atMs });
    const task = open();
    expect(play([dead(nowMs)], { task })).toMatchObject({
      task: { state: "asking" },
      last: [{ type: "wake" }],
    });
    const late = play([dead(nowMs + hourMs)], { task });
    expect(late.last).toEqual([{ type: "cancel" }]);
    expect(late.task.outcome).toMatchObject({ type: "failed", reason: "ambiguous" });
  });

  it("continues a redriven task from where it stands", () => {
    const redrive: TaskEvent = { type: "redriven", nowMs, workerDied: false };
    expect(play([redrive], { task: play([...toSent, asking()]).task }).last).toMatchObject([
      { type: "ask_question" },
    ]);
    expect(play([redrive], { task: takeReply(open()) }).last).toEqual([{ type: "show_question" }]);
  });
});

const foreign = samplePolicy({ idempotent: false });
const poll = { type: "poll", by: "task_id" } as const;
const doubt = answerCall(failure({ reason: "ambiguous" }));
const away = failure({ reason: "unavailable" });

/** Its question was answered. */
const replied = (question: Parameters<typeof asking>[0] = {}, policy = samplePolicy()) =>
  takeReply(open(question, policy));

describe("a reply that may have arrived", () => {
  it("polls after an ambiguous answer to a peer that does not deduplicate until it asks the same again", () => {
    const task = replied({ question_id: "q1" }, foreign);
    const inDoubt: (readonly TaskEvent[])[] = [
      [workerDied],
      [woken, questionShown, doubt],
      [woken, questionShown, doubt, { ...away, act: "poll" }, woken],
      [workerDied, { ...away, act: "poll" }, woken, { ...away, act: "poll" }, workerDied],
    ];
    for (const events of inDoubt) {
      const looking = play(events, { task, policy: foreign });
      expect(looking.last).toEqual([poll]);
      const same = (atMs: number) => [asking({ question_id: "q1" }, { atMs }), at(woken, atMs)];
      // What was given up may arrive a little later.
      expect(play(same(nowMs + 59_000), { task: looking.task, policy: foreign }).last).toEqual([
        poll,
      ]);
      expect(play(same(nowMs + 60_000), { task: looking.task, policy: foreign }).last).toEqual([
        { type: "answer" },
      ]);
      const further = play([asking({ question_id: "q2", prompt: "And that?" }), woken], {
        task: looking.task,
        policy: foreign,
      });
      expect(further.task.question).toMatchObject({ index: 1, id: "q2", prompt: "And that?" });
      expect(further.last).toMatchObject([{ type: "ask_question", reconcile: false }]);
      const foreignStep = play([{ ...accepted, act: "poll" }], {
        task: looking.task,
        policy: foreign,
      });
      expect(foreignStep.task.state).toBe("waiting");
    }
  });
});

describe("a reply that has arrived", () => {
  it("keeps one question when a peer gives it another id at every read", () => {
    const echo = asking({ question_id: "another" }, { act: "answer" });
    const otherQuestion = asking({ question_id: "yet another" });
    const task = replied({ question_id: "q" }, foreign);
    const askedTask = play([woken, questionShown, echo, woken, otherQuestion], {
      task,
      policy: foreign,
    }).task;
    expect(askedTask.question).toMatchObject({ index: 0, id: "q", answer: { callId: "call-1" } });
  });

  it("ends an answered question whose peer never moves on by asking once more or by timing out", () => {
    const says: Record<string, (act: "answer" | "poll", atMs: number) => TaskEvent> = {
      "the same question for ever": (act, atMs) => asking({ question_id: "q1" }, { act, atMs }),
      "that it takes no answer, and the same question": (act, atMs) =>
        act === "poll"
          ? asking({ question_id: "q1" }, { act, atMs })
          : { ...answerCall(failure({ reason: "invalid_state" })), nowMs: atMs },
      nothing: (act, atMs) => ({ ...away, act, nowMs: atMs }),
    };
    const ends = Object.entries(says).flatMap(([what, say]) =>
      [true, false].map((idempotent) => {
        return { what, ...afterAnHour(say, samplePolicy({ idempotent, deadlineMs: 15 * 60_000 })) };
      }),
    );
    expect(ends.map(({ what, index, outcome }) => [what, index, outcome])).toEqual([
      ["the same question for ever", 1, undefined],
      ["the same question for ever", 1, undefined],
      ["that it takes no answer, and the same question", 0, "timeout"],
      ["that it takes no answer, and the same question", 0, "timeout"],
      ["nothing", 0, "timeout"],
      ["nothing", 0, "timeout"],
    ]);
  });
});

/** What has become of an answered question when the host has said the same for an hour. */
function afterAnHour(
  say: (act: "answer" | "poll", atMs: number) => TaskEvent,
  policy: ReturnType<typeof samplePolicy>,
) {
  let atMs = nowMs + 6000;
  let step = play([at(woken, atMs)], { task: replied({ question_id: "q1" }, policy), policy });
  for (let steps = 0; steps < 1000 && atMs < nowMs + hourMs; steps++) {
    const { task, last } = step;
    const [effect] = last;
    if (effect === undefined || task.question?.index !== 0 || task.outcome !== undefined) break;
    if (effect.type === "wake") atMs += Math.max(50, effect.delayMs);
    const isCall = effect.type === "answer" || effect.type === "poll";
    const following: TaskEvent =
      effect.type === "wake"
        ? at(woken, atMs)
        : effect.type === "cancel"
          ? { type: "canceled", nowMs: atMs }
          : isCall
            ? say(effect.type, atMs)
            : questionShown;
    step = play([following], { task, policy });
  }
  const { question, outcome } = step.task;
  return {
    index: question?.index,
    outcome: outcome?.type === "failed" ? outcome.reason : undefined,
  };
}

describe("a question about credentials", () => {
  it("shows another question found while polling for credentials and does not count the time until then", () => {
    const auth = open({ kind: "auth", question_id: "q1", prompt: "Please sign in." });
    const laterMs = nowMs + 2 * hourMs;
    for (const id of [{ question_id: "q2" }, {}]) {
      const next = asking({ ...id, prompt: "Delete it?" }, { atMs: laterMs });
      const { task, last } = play([woken, next, at(woken, laterMs)], { task: auth });
      expect(task.question).toMatchObject({
        index: 1,
        prompt: "Delete it?",
        ...(id.question_id && { id: "q2" }),
      });
      expect(task.call?.deadlineAtMs).toBe((auth.call?.deadlineAtMs ?? 0) + 2 * hourMs);
      expect(last).toMatchObject([{ type: "ask_question", reconcile: false }]);
    }
  });
});

describe("a question of another zone", () => {
  it("cuts an oversized question from another zone to what a record holds and an answer can name", () => {
    const many = Array.from({ length: 3000 }, (_, index) => ({
      id: `${index}`,
      label: "y".repeat(2000),
    }));
    const { task } = play([
      woken,
      announced,
      woken,
      asking({ prompt: "x".repeat(300_000), options: many }),
    ]);
    expect(task.call?.params).toBeUndefined();
    expect(Buffer.byteLength(JSON.stringify(task))).toBeLessThan(50_000);
    const unnamedOption = open({ options: [{ id: "z".repeat(129), label: "Yes" }] });
    expect(unnamedOption.question?.options).toEqual([{ id: "", label: "Yes" }]);
  });
});
