/** Who may answer a question, in its record: which questions are asked at all, how approvals add up, and how long a link to sign in is kept. */
import { describe, expect, it } from "@jest/globals";
import { findReplyRefusal, takeAnswer } from "@sekisho/verification/task/asking.ts";
import type { TaskEvent } from "@sekisho/verification/task/events.ts";
import type { AnswerBy, GivenAnswer, Task } from "@sekisho/verification/task/task.ts";
import fc from "fast-check";
import { accepted, asking, failure, nowMs, play, success, toSent, typesOf, woken } from "./play.ts";
import { samplePolicy } from "./sample.ts";

const hourMs = 3600_000;
const url = "https://sign-in.example/start?state=hunter2";
const signIn = {
  prompt: "Sign in.",
  options: [] as { id: string; label: string }[],
  kind: "auth" as const,
  url,
};
const options = [
  { id: "go", label: "Deploy" },
  { id: "later", label: "Tomorrow" },
  { id: "no", label: "Leave it", style: "danger" },
];
const questionAsked: TaskEvent = { type: "question_asked", nowMs, ts: "2.1" };
const questionShown: TaskEvent = { type: "question_shown", nowMs };

type Question = Parameters<typeof asking>[0];

function openTask(question: Question, policy = samplePolicy()): Task {
  return play([...toSent, asking(question, { act: "send" }), woken, questionAsked], { policy })
    .task;
}

function approve(task: Task, user: string, changes: Partial<GivenAnswer> = {}): Task {
  const answer = { user, atMs: nowMs + 5000, option: 0, callId: `call-${user}`, ...changes };
  const result = takeAnswer({ task, index: 0, answer, nowMs: answer.atMs });
  if ("notTaken" in result) throw new Error(`not taken: ${result.notTaken.type}`);
  return result.task;
}

const approved = { options, approvals: 2 };
const givenOf = ({ question }: Task) => question?.approvals?.given.map(({ user }) => user);

describe("a question that nobody could answer", () => {
  it.each<[string, Question, AnswerBy]>([
    ["for others than the asker, who alone may answer", { answerers: "not-asker" }, "asker"],
    ["for two people, where the asker alone may answer", approved, "asker"],
    ["for two people and for the asker", { ...approved, answerers: "asker" }, "anyone"],
    ["for two people without buttons", { ...approved, options: [] }, "anyone"],
    [
      "for two people in a form",
      { ...approved, fields: [{ id: "a", label: "A", type: "text" }] },
      "anyone",
    ],
    [
      "for two people, whose options have one id",
      { ...approved, options: options.map((option) => ({ ...option, id: "go" })) },
      "anyone",
    ],
    [
      "for two people, with more options than buttons",
      {
        ...approved,
        options: Array.from({ length: 26 }, (_, index) => ({ id: `${index}`, label: "Go" })),
      },
      "anyone",
    ],
    ["for credentials by two people", { ...approved, kind: "auth" }, "anyone"],
    ["with a link for others", { ...signIn, answerers: "not-asker" }, "anyone"],
    ["with a link for anyone", { ...signIn, answerers: "anyone" }, "anyone"],
    ["with rules that cannot be read", { unanswerable: true }, "anyone"],
  ])("ends the task and cancels it at the host: %s", (_what, question, answerBy) => {
    for (const act of ["send", "poll"] as const) {
      const sent = act === "poll" ? [accepted, woken] : [];
      const { last, task } = play([...toSent, ...sent, asking(question, { act })], {
        policy: samplePolicy({ answerBy }),
      });
      expect(last).toEqual([{ type: "cancel" }]);
      expect(task).toMatchObject({
        state: "delivering",
        call: { taskId: "t-1" },
        outcome: { type: "failed", reason: "invalid_response", lost: false, unanswerable: true },
      });
      expect(task.question).toBeUndefined();
      expect(typesOf(play([{ type: "canceled", nowMs }], { task }).asked)).toEqual([["wake"]]);
    }
  });

  it("ends the task if Slack refuses the buttons that the question needs", () => {
    const refusal: TaskEvent = {
      type: "slack_failed",
      nowMs,
      act: "ask_question",
      kind: "refused",
    };
    for (const question of [approved, signIn]) {
      const { last, task } = play([...toSent, asking(question), woken, refusal]);
      expect(last).toEqual([{ type: "cancel" }]);
      expect(task.outcome).toMatchObject({ unanswerable: true });
      expect(JSON.stringify(task)).not.toContain("hunter2");
    }
  });

  it.each<[Question, AnswerBy]>([
    [{ answerers: "anyone" }, "asker"],
    [{ answerers: "asker" }, { group: "S1" }],
    [{ answerers: { group: "S1" } }, "asker"],
    [{ answerers: "not-asker" }, { group: "S1" }],
    [{ ...approved, answerers: "not-asker" }, "anyone"],
    [{ ...approved, approvals: 1 }, "asker"],
    [{ ...signIn, answerers: "asker" }, { group: "S1" }],
    [{ url }, "asker"],
  ])("asks %j where %j may answer", (question, answerBy) => {
    expect(openTask(question, samplePolicy({ answerBy }))).toMatchObject({ state: "asking" });
  });
});

describe("approvals", () => {
  it("answers the question once enough people have chosen the same option", () => {
    const once = approve(openTask(approved), "U2");
    expect(once.question?.answer).toBeUndefined();
    const twice = approve(once, "U3");
    expect(twice.question?.answer).toMatchObject({
      user: "U3",
      option: 0,
      approvedBy: ["U2", "U3"],
    });
    expect(
      takeAnswer({ task: twice, answer: { user: "U4", atMs: 1, callId: "c" }, nowMs }),
    ).toEqual({
      notTaken: { type: "answered", by: "U3", atMs: nowMs + 5000 },
    });
  });

  it("counts a person once, and keeps the record if nothing has changed", () => {
    const once = approve(openTask(approved), "U2");
    expect(approve(once, "U2")).toBe(once);
    expect(approve(once, "U2", { atMs: nowMs + 9000 })).toBe(once);
  });

  it("takes the latest choice of a person, in whatever order the clicks arrive", () => {
    const late = { option: 1, atMs: nowMs + 9000 };
    const changed = approve(approve(openTask(approved), "U2"), "U2", late);
    expect(changed.question?.approvals?.given).toMatchObject([{ user: "U2", option: 1 }]);
    expect(approve(changed, "U2")).toBe(changed);
    expect(approve(changed, "U3").question?.answer).toBeUndefined();
  });

  it("lets one person alone choose an option of the style danger", () => {
    const { answer } =
      approve(approve(openTask(approved), "U2"), "U3", { option: 2 }).question ?? {};
    expect(answer).toMatchObject({ user: "U3", option: 2 });
    expect(answer).not.toHaveProperty("approvedBy");
  });

  it.each<[string, Partial<GivenAnswer>]>([
    ["words", { option: undefined, text: "Deploy" }],
    ["the values of a form", { option: undefined, fields: {} }],
    ["a sign-in", { option: undefined, signedIn: true }],
    ["an option that is not offered", { option: 3 }],
  ])("refuses %s", (_what, changes) => {
    const answer = { user: "U2", atMs: nowMs, callId: "c", ...changes };
    expect(takeAnswer({ task: openTask(approved), answer, nowMs })).toEqual({
      notTaken: { type: "use_buttons" },
    });
  });

  it("shows each approval once, and then waits for the next one until the question expires", () => {
    const once = approve(openTask(approved), "U2");
    const shown = play([woken, questionShown], { task: once });
    expect(shown.asked).toEqual([[{ type: "show_question" }], [{ type: "wake", delayMs: hourMs }]]);
    expect(givenOf(shown.task)).toEqual(["U2"]);
    expect(play([woken], { task: shown.task }).last).toEqual([{ type: "wake", delayMs: hourMs }]);
  });

  it("begins anew with a question that has the same text and other rules", () => {
    const policy = samplePolicy({ idempotent: false });
    const task = approve(openTask(approved, policy), "U2");
    const stricter = asking({ ...approved, approvals: 3 });
    const { question } = play([stricter], { task, policy }).task;
    expect(question).toMatchObject({ index: 1, approvals: { needed: 3, given: [] } });
    expect(play([asking(approved)], { task, policy }).task.question?.index).toBe(0);
  });

  it("begins anew with a question that has the same id and other rules", () => {
    const named = { ...approved, question_id: "q-1" };
    const task = approve(openTask(named), "U2");
    for (const rules of [{ approvals: 3 }, { answerers: "not-asker" as const }]) {
      const { question } = play([asking({ ...named, ...rules })], { task }).task;
      expect(question).toMatchObject({ index: 1, approvals: { given: [] } });
    }
    expect(givenOf(play([asking(named)], { task }).task)).toEqual(["U2"]);
  });

  it("never needs fewer people than asked for, whoever clicks what in whatever order", () => {
    const click = fc.record({
      user: fc.constantFrom("U1", "U2", "U3", "U4"),
      option: fc.constantFrom(0, 1),
      afterMs: fc.nat({ max: 20 }),
    });
    fc.assert(
      fc.property(
        fc.integer({ min: 2, max: 4 }),
        fc.array(click, { maxLength: 12 }),
        (needed, clicks) => {
          let task = openTask({ ...approved, approvals: needed });
          for (const { user, option, afterMs } of clicks) {
            const answer = { user, option, atMs: nowMs + afterMs, callId: "c" };
            const result = takeAnswer({ task, index: 0, answer, nowMs });
            if ("task" in result) task = result.task;
          }
          const { answer } = task.question ?? {};
          if (answer === undefined) return;
          expect(new Set(answer.approvedBy).size).toBe(needed);
          for (const user of answer.approvedBy ?? [])
            expect(clicks).toContainEqual(expect.objectContaining({ user, option: answer.option }));
        },
      ),
    );
  });
});

describe("a link to sign in", () => {
  const confirmed: GivenAnswer = {
    user: "U1",
    atMs: nowMs,
    signedIn: true,
    from: "f",
    callId: "c",
  };
  const isErased = (task: Task) => {
    expect(JSON.stringify(task)).not.toContain("hunter2");
    expect(task.question?.signIn).toEqual({});
  };

  it("stays in the record while the question is open", () => {
    expect(openTask(signIn).question?.signIn).toEqual({ url });
  });

  it("goes with the confirmation", () => {
    const result = takeAnswer({ task: openTask(signIn), answer: confirmed, nowMs });
    if ("notTaken" in result) throw new Error(result.notTaken.type);
    isErased(result.task);
    expect(result.task.question?.answer).toMatchObject({ user: "U1", signedIn: true });
  });

  it.each<[string, readonly TaskEvent[]]>([
    ["the agent goes on", [accepted]],
    ["the task ends", [success]],
    ["the task fails", [failure({ reason: "execution_failed" })]],
    ["a person cancels the task", [{ type: "cancel_asked", nowMs, workerDied: false }]],
    ["it expires", [{ ...woken, nowMs: nowMs + hourMs }]],
    ["our own code fails", [{ type: "step_failed", nowMs, causeKind: "TypeError" }]],
  ])("goes when %s", (_what, events) => {
    isErased(play(events, { task: openTask(signIn) }).task);
  });

  it("goes when the agent asks something else", () => {
    const { task } = play([asking({ question_id: "q-2" })], {
      task: openTask({ ...signIn, question_id: "q-1" }),
    });
    expect(JSON.stringify(task)).not.toContain("hunter2");
    expect(task.question).not.toHaveProperty("signIn");
  });

  it("follows the latest one of a peer that makes a new one for each poll", () => {
    const newUrl = "https://sign-in.example/start?state=second";
    const { task } = play([asking({ ...signIn, url: newUrl })], { task: openTask(signIn) });
    expect(task.question).toMatchObject({ index: 0, signIn: { url: newUrl } });
  });

  it.each([undefined, "q-1"])("may come after the question, whose id is %s", (question_id) => {
    const { url: _none, ...question } = { ...signIn, ...(question_id && { question_id }) };
    const task = openTask(question);
    const later = play([asking({ ...question, url })], { task });
    expect(later.last).toEqual([{ type: "show_question" }]);
    expect(later.task.question).toMatchObject({ index: 0, ts: "2.1", signIn: { url } });
    const { last } = play([asking(question)], { task: later.task });
    expect(last).toMatchObject([{ type: "wake" }]);
  });

  it("belongs to the same question at every poll, whatever ids the peer gives it", () => {
    const policy = samplePolicy({ idempotent: false });
    for (const rules of [{}, { answerers: "asker" as const }]) {
      const ask = (id: string) => asking({ ...signIn, ...rules, question_id: id });
      const task = openTask({ ...signIn, ...rules, question_id: "q-1" }, policy);
      expect(play([ask("q-2")], { task, policy }).last).toMatchObject([{ type: "wake" }]);
      const result = takeAnswer({ task, answer: confirmed, nowMs });
      if ("notTaken" in result) throw new Error(result.notTaken.type);
      const { question } = play([{ ...ask("q-2"), act: "answer" }], {
        ...{ task: result.task, policy },
      }).task;
      expect(question).toMatchObject({ index: 0, answer: { arrival: { type: "arrived" } } });
    }
  });

  it("never belongs to a question of another kind", () => {
    const task = openTask({ url });
    expect(task.state).toBe("asking");
    expect(JSON.stringify(task)).not.toContain("hunter2");
  });

  it("needs a confirmation, and no words", () => {
    const words = { user: "U1", atMs: nowMs, text: "done", callId: "c" };
    expect(takeAnswer({ task: openTask(signIn), answer: words, nowMs })).toEqual({
      notTaken: { type: "use_buttons" },
    });
    expect(takeAnswer({ task: openTask({}), answer: confirmed, nowMs })).toEqual({
      notTaken: { type: "use_buttons" },
    });
  });

  it("accepts no confirmation after the question has expired", () => {
    const task = openTask(signIn);
    expect(findReplyRefusal({ task, index: 0, nowMs })).toBeUndefined();
    expect(findReplyRefusal({ task, index: 0, nowMs: nowMs + hourMs })).toEqual({
      type: "expired",
    });
  });
});
