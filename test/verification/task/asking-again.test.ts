/** What a peer says after an answer was brought: its echo, its next question, nothing; and no answer is brought to a question nobody saw. */
import { describe, expect, it } from "@jest/globals";
import { takeAnswer } from "../../../lambdas/verification/task/asking.ts";
import type { TaskEvent } from "../../../lambdas/verification/task/events.ts";
import type { Task } from "../../../lambdas/verification/task/task.ts";
import { accepted, announced, asking, failure, nowMs, play, resumed, woken } from "./play.ts";
import { samplePolicy } from "./sample.ts";

const hourMs = 3600_000;
const foreign = samplePolicy({ idempotent: false });
const poll = { type: "poll", by: "task_id" } as const;
const shown: TaskEvent = { type: "question_asked", nowMs, ts: "2.1" };
const questionShown: TaskEvent = { type: "question_shown", nowMs };
const at = <E extends TaskEvent>(event: E, atMs: number) => ({ ...event, nowMs: atMs });
const answerCall = (event: ReturnType<typeof failure>) => ({ ...event, act: "answer" }) as const;
const doubt = answerCall(failure({ reason: "ambiguous", retryable: false }));
const away = failure({ reason: "unavailable", retryable: true });

function open(question: Parameters<typeof asking>[0] = {}, policy = samplePolicy()): Task {
  return play([woken, announced, woken, asking(question, { act: "send" }), woken, shown], { policy }).task;
}

function answered(question: Parameters<typeof asking>[0] = {}, policy = samplePolicy()): Task {
  const answer = { user: "U1", atMs: nowMs + 5000, option: 0, callId: "call-1" };
  const result = takeAnswer({ task: open(question, policy), answer, nowMs: nowMs + 5000 });
  if ("notTaken" in result) throw new Error(`not taken: ${result.notTaken.type}`);
  return result.task;
}

describe("an answer that may have arrived", () => {
  it("at a peer that would take it for its next question is looked for only, until the peer still asks the same", () => {
    const task = answered({ question_id: "q1" }, foreign);
    const inDoubt: (readonly TaskEvent[])[] = [
      [resumed],
      [woken, questionShown, doubt],
      [woken, questionShown, doubt, { ...away, act: "poll" }, woken],
      [resumed, { ...away, act: "poll" }, woken, { ...away, act: "poll" }, resumed],
    ];
    for (const events of inDoubt) {
      const looking = play(events, { task, policy: foreign });
      expect(looking.last).toEqual([poll]);
      const same = (atMs: number) => [asking({ question_id: "q1" }, { atMs }), at(woken, atMs)];
      // What was given up may arrive a little later.
      expect(play(same(nowMs + 59_000), { task: looking.task, policy: foreign }).last).toEqual([poll]);
      expect(play(same(nowMs + 60_000), { task: looking.task, policy: foreign }).last).toEqual([{ type: "answer" }]);
      const further = play([asking({ question_id: "q2", prompt: "And that?" }), woken], {
        task: looking.task,
        policy: foreign,
      });
      expect(further.task.question).toMatchObject({ index: 1, id: "q2", prompt: "And that?" });
      expect(further.last).toMatchObject([{ type: "ask_question", reconcile: false }]);
    }
  });

  it("is brought again at once to a host that knows the repetition of a call", () => {
    const task = answered({ question_id: "q1" });
    expect(play([woken, questionShown, doubt, woken], { task }).last).toEqual([{ type: "answer" }]);
  });
});

describe("an answer that has arrived", () => {
  it("is not asked for again because the peer gives the task as it stood before", () => {
    for (const policy of [samplePolicy(), foreign]) {
      const echo = asking({ question_id: "q1" }, { act: "answer" });
      const told = play([woken, questionShown, echo], { task: answered({ question_id: "q1" }, policy), policy });
      expect(told.task.question).toMatchObject({ index: 0, answer: { callId: "call-1" } });
      expect(told.last).toMatchObject([{ type: "wake" }]);
      const again = play([woken, asking({ question_id: "q1" }), woken], { task: told.task, policy });
      expect(again.last).toEqual([poll]);
      expect(again.task.question?.index).toBe(0);
      expect(play([{ ...accepted, act: "poll" }], { task: again.task, policy }).task.state).toBe("waiting");
    }
  });

  it("nor because a peer gives its question another id at every read", () => {
    const echo = asking({ question_id: "another" }, { act: "answer" });
    const read = asking({ question_id: "yet another" });
    const task = answered({ question_id: "q" }, foreign);
    const told = play([woken, questionShown, echo, woken, read], { task, policy: foreign }).task;
    expect(told.question).toMatchObject({ index: 0, id: "q", answer: { callId: "call-1" } });
  });

  it("is followed at once by a question of the same words where the host has an id for each", () => {
    const next = asking({ question_id: "q2" }, { act: "answer" });
    const { task, last } = play([woken, questionShown, next, woken], { task: answered({ question_id: "q1" }) });
    expect(task.question).toMatchObject({ index: 1, id: "q2" });
    expect(task.question?.answer).toBeUndefined();
    expect(last).toEqual([{ type: "ask_question", reconcile: false }]);
  });

  it("has an end whatever the peer says after it: the person is asked once more, or reads that the time is over", () => {
    const says: Record<string, (act: "answer" | "poll", atMs: number) => TaskEvent> = {
      "the same question for ever": (act, atMs) => asking({ question_id: "q1" }, { act, atMs }),
      "that it takes no answer, and the same question": (act, atMs) =>
        act === "poll"
          ? asking({ question_id: "q1" }, { act, atMs })
          : { ...answerCall(failure({ reason: "invalid_state", retryable: false })), nowMs: atMs },
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
  let step = play([at(woken, atMs)], { task: answered({ question_id: "q1" }, policy), policy });
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
  return { index: question?.index, outcome: outcome?.type === "failed" ? outcome.reason : undefined };
}

describe("a question about credentials", () => {
  it("is not all that a peer may ask: another question that a look finds is shown", () => {
    const auth = open({ kind: "auth", question_id: "q1", prompt: "Please sign in." });
    for (const next of [asking({ question_id: "q2", prompt: "Delete it?" }), asking({ prompt: "Delete it?" })]) {
      const { task, last } = play([woken, next, woken], { task: auth });
      expect(task.question).toMatchObject({ index: 1, prompt: "Delete it?" });
      expect(last).toMatchObject([{ type: "ask_question", reconcile: false }]);
    }
  });

  it("costs the task none of its time, also where it is canceled or goes on long after its deadline", () => {
    const task = open({ kind: "auth", question_id: "q1", prompt: "Please sign in." });
    const laterMs = nowMs + 50 * 60_000;
    const onward = play([at({ ...accepted, act: "poll" as const }, laterMs), at(woken, laterMs + 1000)], { task });
    expect(onward.task).toMatchObject({
      state: "waiting",
      call: { deadlineAtMs: (task.call?.deadlineAtMs ?? 0) + 50 * 60_000 },
    });
    expect(onward.last).toEqual([poll]);
    const cancel: TaskEvent = { type: "cancel_asked", nowMs: laterMs, resumed: false };
    const hiccup = { ...away, act: "cancel", nowMs: laterMs } as const;
    const trying = play([cancel, hiccup], { task: open() });
    expect(trying.task).toMatchObject({ state: "asking", cancelReason: "asked" });
    expect(trying.last).toMatchObject([{ type: "wake" }]);
  });
});

describe("a question of another zone", () => {
  it("is open for a minute at least, whatever that zone's clock says", () => {
    const expires_at = new Date(nowMs - 5 * 60_000).toISOString();
    const { task } = play([woken, announced, woken, asking({ expires_at }), woken], {});
    expect(task.question?.expiresAtMs).toBe(nowMs + 60_000);
    expect(task.cancelReason).toBeUndefined();
    expect(open({ expires_at: new Date(nowMs + 2 * hourMs).toISOString() }).question?.expiresAtMs).toBe(nowMs + hourMs);
  });

  it("is kept as far as a record holds it and an answer can name it, however large it comes", () => {
    const many = Array.from({ length: 3000 }, (_, index) => ({ id: `${index}`, label: "y".repeat(2000) }));
    const { task } = play([woken, announced, woken, asking({ prompt: "x".repeat(300_000), options: many })]);
    expect(task.call?.params).toBeUndefined();
    expect(Buffer.byteLength(JSON.stringify(task))).toBeLessThan(50_000);
    const unnamed = open({ options: [{ id: "z".repeat(129), label: "Yes" }] });
    expect(unnamed.question?.options).toEqual([{ id: "", label: "Yes" }]);
  });
});
