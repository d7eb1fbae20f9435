/** The agent's question to a person, in the record: open until it expires, answered once, brought under one id. */
import { describe, expect, it } from "@jest/globals";
import { takeAnswer } from "../../../lambdas/verification/task/asking.ts";
import type { TaskEvent } from "../../../lambdas/verification/task/events.ts";
import { next } from "../../../lambdas/verification/task/machine.ts";
import type { GivenAnswer, Task } from "../../../lambdas/verification/task/task.ts";
import { accepted, announced, asking, failure, nowMs, play, resumed, success, typesOf, woken } from "./play.ts";
import { samplePolicy, sampleTask } from "./sample.ts";

const hourMs = 3600_000;
const shown: TaskEvent = { type: "question_asked", nowMs, ts: "2.1" };
const questionShown: TaskEvent = { type: "question_shown", nowMs };
const yes: GivenAnswer = { user: "U1", atMs: nowMs + 5000, option: 0, callId: "call-1" };
const sent = [woken, announced, woken];

/** The question is in the thread. */
function open(question: Parameters<typeof asking>[0] = {}, policy = samplePolicy()): Task {
  return play([...sent, asking(question, { act: "send" }), woken, shown], { policy }).task;
}

function taken(task: Task, answer = yes, atMs = answer.atMs): Task {
  const result = takeAnswer({ task, answer, nowMs: atMs });
  if ("notTaken" in result) throw new Error(`not taken: ${result.notTaken.type}`);
  return result.task;
}

const at = <E extends TaskEvent>(event: E, atMs: number) => ({ ...event, nowMs: atMs });
const answerCall = (event: ReturnType<typeof failure>) => ({ ...event, act: "answer" }) as const;
const answered: TaskEvent = { ...success, act: "answer" };

describe("a question of the agent", () => {
  it("is in the record first, then the thread is held for it, then it is asked, and then it waits until it expires", () => {
    const { asked, task } = play([...sent, asking({ question_id: "q" }), woken, { type: "thread_held" }, shown]);
    expect(typesOf(asked).slice(3)).toEqual([["wake"], ["hold_thread"], ["ask_question"], ["wake"]]);
    expect(asked.at(-1)).toEqual([{ type: "wake", delayMs: hourMs }]);
    expect(task).toMatchObject({
      state: "asking",
      call: { taskId: "t-1" },
      question: { index: 0, id: "q", ts: "2.1" },
    });
  });

  it("that is not in the record ends the task in words", () => {
    const { question: _lost, ...task } = open();
    const { asked, task: ended } = play([woken, { type: "canceled", nowMs }], { task });
    expect(typesOf(asked)).toEqual([["cancel"], ["wake"]]);
    expect(ended).toMatchObject({ state: "delivering", outcome: { type: "failed", reason: "timeout" } });
  });

  it("holds its thread for as long as it may stay open and the task has time left then", () => {
    const { task } = play([...sent, asking()]);
    const { effects } = next({ task, event: woken, policy: samplePolicy() });
    // The question's hour, what is left of the minute that the task has, the host's own time, and the delivery's.
    expect(effects).toEqual([{ type: "hold_thread", untilMs: nowMs + hourMs + 60_000 + 15_000 + 60_000 }]);
  });

  it("expires when the host says so, and never later than the destination allows", () => {
    for (const [expiresMs, expectedMs] of [
      [60_000, 60_000],
      [2 * hourMs, hourMs],
    ] as const) {
      const expires_at = new Date(nowMs + expiresMs).toISOString();
      expect(open({ expires_at }).question?.expiresAtMs).toBe(nowMs + expectedMs);
    }
    expect(open({ expires_at: "soon" }).question?.expiresAtMs).toBe(nowMs + hourMs);
  });

  it("is looked for before it is asked again, where a worker died of asking or Slack left it in doubt", () => {
    const { task } = play([...sent, asking()]);
    expect(play([resumed], { task }).last).toEqual([{ type: "ask_question", reconcile: true }]);
    const doubt: TaskEvent = { type: "slack_failed", nowMs, act: "ask_question", kind: "ambiguous" };
    expect(play([woken, doubt, woken], { task }).last).toEqual([{ type: "ask_question", reconcile: true }]);
    expect(play([woken], { task }).last).toEqual([{ type: "ask_question", reconcile: false }]);
  });

  it("is asked without blocks where Slack takes none; where nobody can be asked at all, the task is told as unanswered", () => {
    const { task } = play([...sent, asking(), woken]);
    const refused: TaskEvent = { type: "slack_failed", nowMs, act: "ask_question", kind: "refused" };
    const plain = play([refused, woken], { task });
    expect(plain.task).toMatchObject({ state: "asking", mrkdwnFallback: true });
    for (const kind of ["refused", "gone"] as const) {
      const over = play([{ type: "slack_failed", nowMs, act: "ask_question", kind }], { task: plain.task });
      expect(over.last).toEqual([{ type: "cancel" }]);
      expect(play([{ type: "canceled", nowMs }], { task: over.task }).task.outcome).toEqual({ type: "unanswered" });
    }
  });

  it("ends what the agent had told of its progress, so that it is not shown again", () => {
    const { task } = play([...sent, accepted, woken, asking()], {
      task: sampleTask({ progress: { text: "half", shownAtMs: nowMs - 5000 } }),
    });
    expect(task.progress).toBeUndefined();
  });
});

describe("an answer", () => {
  it("is shown in the question's message, and then brought to the agent", () => {
    const task = taken(open());
    expect(typesOf(play([woken, questionShown], { task }).asked)).toEqual([["show_question"], ["answer"]]);
    const over = play([woken, questionShown, answered], { task }).task;
    expect(over).toMatchObject({ state: "delivering", outcome: { type: "answer", text: "A checkpoint." } });
  });

  it("lets the task go on being polled where the agent is not done yet", () => {
    const onward: TaskEvent = { ...accepted, act: "answer" };
    expect(play([woken, questionShown, onward], { task: taken(open()) }).task.state).toBe("waiting");
  });

  it("is the first one: whoever comes later hears by whom and when", () => {
    const task = taken(open());
    const late = takeAnswer({ task, answer: { ...yes, user: "U2" }, nowMs: nowMs + 9000 });
    expect(late).toEqual({ notTaken: { type: "answered", by: "U1", atMs: yes.atMs } });
  });

  it("comes too late once the question has expired, and is to no question that is not the open one", () => {
    const task = open();
    const give = (task: Task, index: number, atMs: number) => takeAnswer({ task, index, answer: yes, nowMs: atMs });
    expect(give(task, 0, nowMs + hourMs)).toEqual({ notTaken: { type: "expired" } });
    expect(give(task, 1, nowMs)).toEqual({ notTaken: { type: "past" } });
    expect(give({ ...task, cancelReason: "asked" }, 0, nowMs)).toEqual({ notTaken: { type: "expired" } });
    expect(give(sampleTask(), 0, nowMs)).toEqual({ notTaken: { type: "over" } });
  });

  it("gives the task back the time in which it waited for a person", () => {
    const task = open();
    expect(taken(task).call?.deadlineAtMs).toBe((task.call?.deadlineAtMs ?? 0) + 5000);
    expect(play([at(woken, nowMs + hourMs - 1)], { task }).task.cancelReason).toBeUndefined();
  });

  it("is brought again under its own id where nobody knows whether it arrived", () => {
    const task = taken(open());
    for (const error of [
      failure({ reason: "ambiguous", retryable: false }),
      failure({ reason: "unavailable", retryable: true }),
      failure({ reason: "invalid_response", retryable: false }),
    ]) {
      const again = play([woken, questionShown, answerCall(error), woken], { task });
      expect(again.last).toEqual([{ type: "answer" }]);
      expect(again.task.question?.answer?.callId).toBe("call-1");
    }
    const died = play([resumed], { task });
    expect(died.last).toEqual([{ type: "show_question" }]);
  });

  it("is not brought again to a peer that may not know a repetition: whether it still asks says whether it arrived", () => {
    const policy = samplePolicy({ idempotent: false });
    const task = taken(open({ question_id: "q" }, policy));
    const doubt = answerCall(failure({ reason: "ambiguous", retryable: false }));
    const looked = play([woken, questionShown, doubt], { task, policy });
    expect(looked.last).toEqual([{ type: "poll", by: "task_id" }]);
    // The call may be on its way for a minute.
    expect(play([asking({ question_id: "q" }), woken], { task: looked.task, policy }).last).toEqual(looked.last);
    const later = at(asking({ question_id: "q" }), nowMs + 61_000);
    const same = play([later], { task: looked.task, policy });
    expect(same.task).toMatchObject({ state: "asking", question: { index: 0, answer: yes } });
    expect(play([woken], { task: same.task, policy }).last).toEqual([{ type: "answer" }]);
    const next = play([asking({ question_id: "q2", prompt: "And that?" })], { task: looked.task, policy });
    expect(next.task.question).toMatchObject({ index: 1, id: "q2" });
    expect(next.task.question?.answer).toBeUndefined();
    const gone = play([{ ...accepted, act: "poll" }], { task: looked.task, policy });
    expect(gone.task.state).toBe("waiting");
  });

  it("asks the person anew where it is in doubt and the peer does not tell one question from the other", () => {
    const policy = samplePolicy({ idempotent: false });
    const task = taken(open({}, policy));
    const doubt = answerCall(failure({ reason: "ambiguous", retryable: false }));
    const once = play([woken, questionShown, doubt, asking({ question_id: "new at every read" })], { task, policy });
    expect(once.task.question).toMatchObject({ index: 0, answer: yes });
    const again = play([woken, asking(), woken, at(asking(), nowMs + 61_000)], { task: once.task, policy });
    expect(again.task.question).toMatchObject({ index: 1 });
    expect(again.task.question?.ts).toBeUndefined();
  });

  it("is never brought twice to such a peer: not after a death, not after a look that failed, not while it is told as taken", () => {
    const policy = samplePolicy({ idempotent: false });
    const task = taken(open({ question_id: "q" }, policy));
    const poll = { type: "poll", by: "task_id" } as const;
    expect(play([resumed], { task, policy }).last).toEqual([poll]);
    const doubt = answerCall(failure({ reason: "ambiguous", retryable: false }));
    const away: TaskEvent = { ...failure({ reason: "unavailable", retryable: true }), act: "poll" };
    expect(play([woken, questionShown, doubt, away, woken], { task, policy }).last).toEqual([poll]);
    const echo = asking({ question_id: "q" }, { act: "answer" });
    expect(play([woken, questionShown, echo, woken], { task, policy }).last).toEqual([poll]);
  });

  it("counts apart from failures how often the agent was found still asking", () => {
    const echo = asking({ question_id: "q" }, { act: "answer" });
    const { task } = play([woken, questionShown, echo], { task: taken(open({ question_id: "q" })) });
    const { task: later, last } = play([woken, asking({ question_id: "q" })], { task });
    expect(later).toMatchObject({ attempts: 0, question: { answer: { stillAskedTimes: 2 } } });
    expect(last).toEqual([{ type: "wake", delayMs: 2000 }]);
  });

  it("that the host takes no more is looked into: the task has gone on, or is over", () => {
    const over = answerCall(failure({ reason: "invalid_state", retryable: false }));
    const { last } = play([woken, questionShown, over], { task: taken(open()) });
    expect(last).toEqual([{ type: "poll", by: "task_id" }]);
  });

  it("that cannot be brought ends the task in words, after a bounded number of tries", () => {
    const away = answerCall(failure({ reason: "unavailable", retryable: true }));
    let { task } = play([woken, questionShown, away], { task: taken(open()) });
    for (let tries = 0; tries < 20; tries++) task = play([woken, away], { task }).task;
    expect(task.state).toBe("asking");
    const late = play([woken, at(away, (task.call?.deadlineAtMs ?? 0) + 15_000)], { task });
    expect(late.task.outcome).toMatchObject({ type: "failed", reason: "unavailable" });
    expect(late.last).toEqual([{ type: "cancel" }]);
    for (const reason of ["execution_failed", "task_not_found"] as const) {
      const ended = answerCall(failure({ reason, retryable: false }));
      const told = play([woken, questionShown, ended], { task: taken(open()) }).task;
      expect(told.outcome).toMatchObject({ type: "failed", reason });
    }
    const refused = answerCall(failure({ reason: "permission_denied", retryable: false }));
    let shut = play([woken, questionShown, refused], { task: taken(open()) });
    for (let tries = 1; tries < 7; tries++) shut = play([woken, refused], { task: shut.task });
    expect(shut.task.state).toBe("asking");
    expect(play([woken, refused], { task: shut.task }).task.outcome).toMatchObject({ reason: "permission_denied" });
  });
});

describe("a question about credentials", () => {
  it("is followed by whatever else is asked, and the time until then does not count", () => {
    const task = open({ kind: "auth", question_id: "q1" });
    const later = nowMs + 2 * hourMs;
    const next = play([at(asking({ question_id: "q2", prompt: "And that?" }), later)], { task });
    expect(next.task).toMatchObject({
      question: { index: 1, id: "q2" },
      call: { deadlineAtMs: (task.call?.deadlineAtMs ?? 0) + 2 * hourMs },
    });
    const gone = play([at({ ...accepted, act: "poll" as const }, later)], { task });
    expect(gone.task).toMatchObject({
      state: "waiting",
      call: { deadlineAtMs: (task.call?.deadlineAtMs ?? 0) + 2 * hourMs },
    });
  });
});

describe("a further question", () => {
  it("is another one, with a message of its own, whether it comes with the answer or with a later poll", () => {
    for (const act of ["answer", "poll"] as const) {
      const first = taken(open({ question_id: "q1" }));
      const between: TaskEvent[] = act === "answer" ? [] : [{ ...accepted, act: "answer" }, woken];
      const next = asking({ question_id: "q2", prompt: "And that?" }, { act });
      const { task, last } = play([woken, questionShown, ...between, next, woken], { task: first });
      expect(task.question).toMatchObject({ index: 1, id: "q2", prompt: "And that?" });
      expect(task.question).not.toHaveProperty("ts");
      expect(task.question).not.toHaveProperty("answer");
      expect(last).toEqual([{ type: "ask_question", reconcile: false }]);
    }
  });
});

describe("what nobody answers", () => {
  const expired = at(woken, nowMs + hourMs);

  it("ends: the host is asked to cancel, and the person reads that nobody answered, whatever the host makes of it", () => {
    const { task, last } = play([expired], { task: open() });
    expect(last).toEqual([{ type: "cancel" }]);
    const canceled: TaskEvent = { type: "canceled", nowMs: expired.nowMs };
    expect(play([canceled], { task }).task.outcome).toEqual({ type: "unanswered" });
    const over = { ...failure({ reason: "invalid_state", retryable: false }, expired.nowMs), act: "cancel" } as const;
    const timeout = { ...failure({ reason: "timeout", retryable: false }, expired.nowMs), act: "poll" } as const;
    expect(play([over, timeout], { task }).task.outcome).toEqual({ type: "unanswered" });
    expect(play([over, at({ ...success, act: "poll" }, expired.nowMs)], { task }).task.outcome).toMatchObject({
      type: "answer",
    });
  });

  it("may be canceled before, by whoever asked", () => {
    const { task, last } = play([{ type: "cancel_asked", nowMs, resumed: false }], { task: open() });
    expect(last).toEqual([{ type: "cancel" }]);
    expect(play([{ type: "canceled", nowMs }], { task }).task.outcome).toMatchObject({ reason: "canceled" });
  });
});

describe("missing credentials", () => {
  it("are looked for every half minute until they are there, or the question expires", () => {
    const task = open({ kind: "auth" });
    const look = play([woken], { task });
    expect(look.last).toEqual([{ type: "poll", by: "task_id" }]);
    expect(play([asking({ kind: "auth" })], { task: look.task }).last).toEqual([{ type: "wake", delayMs: 30_000 }]);
    expect(play([{ ...accepted, act: "poll" }], { task: look.task }).task.state).toBe("waiting");
    expect(play([at(woken, nowMs + hourMs)], { task }).last).toEqual([{ type: "cancel" }]);
  });

  it("stay one question with one end where the agent words it anew at every look", () => {
    let task = open({ kind: "auth", prompt: "Sign in: /0", question_id: "q0" });
    const minuteMs = 60_000;
    for (let minute = 1; minute < 60; minute += 1) {
      const atMs = nowMs + minute * minuteMs;
      const words = { kind: "auth", prompt: `Sign in: /${minute}`, question_id: `q${minute}` } as const;
      const look = play([at(woken, atMs), asking(words, { atMs })], { task });
      expect(look.last).toEqual([{ type: "show_question" }]);
      expect(look.task.question).toMatchObject({ index: 0, ts: "2.1", prompt: words.prompt, id: words.question_id });
      const shownAgain = play([{ type: "question_shown", nowMs: atMs }], { task: look.task });
      expect(shownAgain.last).toEqual([{ type: "wake", delayMs: 30_000 }]);
      task = shownAgain.task;
    }
    expect(play([at(woken, nowMs + hourMs)], { task }).last).toEqual([{ type: "cancel" }]);
  });
});

describe("a dead letter, or an operator's redrive, of a task that asks", () => {
  it("costs no answer while the question is open, and ends in words afterwards", () => {
    const dead = (atMs: number): TaskEvent => ({ type: "dead_lettered", nowMs: atMs });
    const task = open();
    expect(play([dead(nowMs)], { task })).toMatchObject({ task: { state: "asking" }, last: [{ type: "wake" }] });
    const late = play([dead(nowMs + hourMs)], { task });
    expect(late.last).toEqual([{ type: "cancel" }]);
    expect(late.task.outcome).toMatchObject({ type: "failed", reason: "ambiguous" });
  });

  it("goes on from where it stands", () => {
    const redriven: TaskEvent = { type: "redriven", nowMs, resumed: false };
    expect(play([redriven], { task: play([...sent, asking()]).task }).last).toMatchObject([{ type: "ask_question" }]);
    expect(play([redriven], { task: taken(open()) }).last).toEqual([{ type: "show_question" }]);
  });
});
