/** What is shown of a task. */
import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { type TaskOutcome, taskSchema } from "../../../lambdas/verification/task/task.ts";
import { formatTaskView, toListedTask, toTaskView } from "../../../lib/cli/tasks/task-view.ts";
import { describeNextStep, describeOutcome, formatDuration } from "../../../lib/cli/tasks/text.ts";
import { askedAtMs, sampleCall, sampleTask } from "../../verification/task/sample.ts";

const nowMs = askedAtMs + 90_000;
const states = taskSchema.shape.state.options;

describe("what is shown of a task", () => {
  it("never holds a text of a user or an agent, in whatever state", () => {
    const text = fc.stringMatching(/^secret [a-z]{8}$/);
    fc.assert(
      fc.property(text, text, fc.constantFrom(...states), (asked, answered, state) => {
        const sample = sampleTask({ state, outcome: { type: "answer", text: answered } });
        const task = {
          ...sample,
          message: {
            ...sample.message,
            text: asked,
            files: [{ id: "F1", name: asked, mimetype: "a/b", size: 1, url: asked }],
          },
          params: { channel: "C1", text: asked, history: [{ role: "user" as const, text: answered }] },
          progress: { text: asked, partialText: answered, percent: 5, shownAtMs: nowMs },
          question: {
            index: 0,
            prompt: asked,
            options: [{ id: answered, label: asked }],
            askedAtMs: nowMs,
            expiresAtMs: nowMs,
            answer: { user: "U1", atMs: nowMs, text: answered, callId: "c" },
          },
        };
        const shown = JSON.stringify([
          toListedTask({ task, nowMs }),
          toTaskView({ task, nowMs }),
          formatTaskView({ task, nowMs }),
        ]);
        expect(shown).not.toContain("secret");
        expect(toTaskView({ task, nowMs })).toMatchObject({ message: { textLength: 15 }, outcome: { textLength: 15 } });
      }),
    );
  });

  it("says whether the answer to a question has arrived, and how often the agent still asked", () => {
    const answer = { user: "U1", atMs: nowMs - 60_000, callId: "c", stillAskedTimes: 3 };
    const question = { index: 0, prompt: "", options: [], askedAtMs: nowMs, expiresAtMs: nowMs };
    const arrival = { type: "in_doubt" as const, sinceMs: nowMs - 5000 };
    const task = sampleTask({ state: "asking", question: { ...question, answer: { ...answer, arrival } } });
    const shown = { user: "U1", atMs: nowMs - 60_000, arrival, stillAskedTimes: 3 };
    expect(toTaskView({ task, nowMs }).question?.answer).toMatchObject(shown);
    const lines = formatTaskView({ task, nowMs }).join("\n");
    expect(lines).toMatch(/question\.answer\.arrival\.type +in_doubt\n.*arrival\.since +\S+ {2}5 s ago\n/);
    expect(lines).toMatch(/question\.answer\.stillAskedTimes +3\n/);
  });

  it("names every field of the record", () => {
    const named = Object.keys(toTaskView({ task: sampleTask(), nowMs }));
    expect(named).toEqual(expect.arrayContaining(Object.keys(taskSchema.shape)));
  });

  it("gives times as such and by how long they are away", () => {
    const lines = formatTaskView({
      task: sampleTask({ call: sampleCall({ deadlineAtMs: nowMs + 7_200_000 }) }),
      nowMs,
    });
    expect(lines).toContainEqual(expect.stringMatching(/^ {2}received +2025-10-09T08:53:20.000Z {2}1 min ago$/));
    const polled = formatTaskView({
      task: sampleTask({ wait: { workStartedAtMs: nowMs, polls: 0, pollAfterMs: 1500 } }),
      nowMs,
    });
    expect(polled).toContainEqual(expect.stringMatching(/^ {2}wait\.pollAfter +1 s$/));
    expect(lines).toContainEqual(expect.stringMatching(/^ {2}call\.deadline +2025-10-09T10:54:50.000Z {2}in 2 h$/));
  });
});

describe("what an Execution zone said of a task", () => {
  it("moves no cursor, sets no title and turns no line around on a person's terminal", () => {
    const taskId = "\u001b[2J\u001b]0;owned\u0007\u009b31m\u202eid\n";
    const lines = formatTaskView({ task: sampleTask({ call: sampleCall({ taskId }) }), nowMs });
    expect(lines).toContainEqual(expect.stringMatching(/^ {2}call\.taskId +\[2J\]0;owned31mid$/));
  });
});

describe("what a task does next", () => {
  it("tells a worker that is at it from one that died, and a further try from a first one", () => {
    const lease = (untilMs: number) => ({ lease: { owner: "w", untilMs } });
    for (const [changes, words] of [
      [{}, "poll"],
      [{ attempts: 2 }, "again: poll"],
      [lease(nowMs + 1), "a worker is at it: poll"],
      [lease(nowMs), "taken over from a worker that died: poll"],
      [{ cancelReason: "asked" }, "cancel it at its destination"],
    ] as const) {
      expect(describeNextStep({ task: sampleTask({ state: "waiting", ...changes }), nowMs })).toBe(words);
    }
    expect(describeNextStep({ task: sampleTask({ state: "queued", queuePosition: 2 }), nowMs })).toContain(
      "2 before it",
    );
    expect(
      describeNextStep({ task: sampleTask({ state: "sent", call: sampleCall({ arrival: "in_doubt" }) }), nowMs }),
    ).toContain("whether");
  });

  it("says of a task that asks whom it waits for", () => {
    const question = { index: 0, prompt: "Shall I?", options: [], askedAtMs: nowMs, expiresAtMs: nowMs + 1, ts: "1.1" };
    const answer = { user: "U1", atMs: nowMs, option: 0, callId: "c" };
    for (const [changes, words] of [
      [{ question }, "wait for a person to answer the agent's question"],
      [{ question: { ...question, answer } }, "send the person's answer to the destination"],
      [
        { question: { ...question, answer: { ...answer, arrival: { type: "in_doubt", sinceMs: nowMs } } } },
        "send the person's answer to the destination, which may have arrived",
      ],
      [
        { question: { ...question, answer: { ...answer, arrival: { type: "arrived" }, stillAskedTimes: 2 } } },
        "wait for the agent, which has the person's answer, polls that found the agent still asking: 2",
      ],
      [{ question, cancelReason: "unanswered" }, "cancel it at its destination"],
    ] as const) {
      expect(describeNextStep({ task: sampleTask({ state: "asking", ...changes }), nowMs })).toBe(words);
    }
  });

  it("is its outcome where it is over, which an answer is also when it has been forgotten", () => {
    const outcomes: [TaskOutcome | undefined, string][] = [
      [undefined, "answered"],
      [{ type: "answer", text: "x" }, "answered"],
      [{ type: "failed", reason: "canceled", lost: false }, "canceled"],
      [{ type: "failed", reason: "execution_failed", lost: true }, "failed: execution_failed, lost"],
      [{ type: "refused" }, "refused"],
      [{ type: "too_old" }, "too old"],
      [{ type: "canceling", count: 2 }, "2 tasks"],
      [{ type: "limited", by: "channel" }, "limit of that channel"],
      [{ type: "file_refused", why: "too_large", name: "secret.pdf" }, "too large"],
      [{ type: "unanswered" }, "nobody answered"],
      [{ type: "not_yours" }, "somebody else's"],
    ];
    for (const [outcome, words] of outcomes) {
      expect(describeNextStep({ task: sampleTask({ state: "done", outcome }), nowMs })).toContain(words);
    }
    expect(describeOutcome(sampleTask({ state: "waiting" }))).toBeUndefined();
  });
});

describe("a duration", () => {
  it.each([
    [0, "0 ms"],
    [999, "999 ms"],
    [1000, "1 s"],
    [119_999, "1 min"],
    [3_600_000, "1 h"],
    [100 * 3_600_000, "4 d"],
  ])("of %d ms is %s", (ms, text) => expect(formatDuration(ms)).toBe(text));
});
