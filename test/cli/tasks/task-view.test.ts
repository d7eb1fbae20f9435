/** What is shown of a task. */

import { describe, expect, it } from "@jest/globals";
import { createTimeline } from "@sekisho/local/recorder/timeline.ts";
import { formatDuration } from "@sekisho/local/web/duration.ts";
import { formatTaskSummary } from "@sekisho/sekisho/tasks/task-summary.ts";
import { toListedTask, toTaskView } from "@sekisho/sekisho/tasks/task-view.ts";
import { describeNextStep, describeOutcome } from "@sekisho/sekisho/tasks/text.ts";
import { type AgentQuestion, type Task, taskSchema } from "@sekisho/verification/task/task.ts";
import fc from "fast-check";
import { askedAtMs, sampleCall, sampleTask } from "../../verification/task/sample.ts";

const nowMs = askedAtMs + 90_000;
const states = taskSchema.shape.state.options;
const summaryOf = (shownText: Omit<Parameters<typeof formatTaskSummary>[0], "timeline">) =>
  formatTaskSummary({
    ...shownText,
    timeline: createTimeline({ ...shownText, execution: undefined }),
  });

describe("the view of a task", () => {
  it("hides the texts of users and agents in every state", () => {
    const text = fc.stringMatching(/^secret [a-z]{8}$/);
    fc.assert(
      fc.property(text, text, fc.constantFrom(...states), (values, answered, state) => {
        const sample = sampleTask({ state, outcome: { type: "answer", text: answered } });
        const task = {
          ...sample,
          message: {
            ...sample.message,
            text: values,
            files: [{ id: "F1", name: values, mimetype: "a/b", size: 1, url: values }],
          },
          params: {
            channel: "C1",
            text: values,
            history: [{ role: "user" as const, text: answered }],
          },
          progress: { text: values, partialText: answered, percent: 5, shownAtMs: nowMs },
          question: {
            index: 0,
            prompt: values,
            options: [{ id: answered, label: values }],
            signIn: { url: values },
            askedAtMs: nowMs,
            expiresAtMs: nowMs,
            answer: { user: "U1", atMs: nowMs, text: answered, callId: "c" },
          },
        };
        const shownJson = JSON.stringify([
          toListedTask({ task, nowMs }),
          toTaskView({ task, nowMs }),
          summaryOf({ task, nowMs }),
        ]);
        expect(shownJson).not.toContain("secret");
        expect(toTaskView({ task, nowMs })).toMatchObject({
          message: { textLength: 15 },
          question: { signIn: { hasLink: true } },
          outcome: { textLength: 15 },
        });
      }),
    );
  });

  it("shows whether the reply to a question has arrived, and how often the agent repeated the question", () => {
    const answer = { user: "U1", atMs: nowMs - 60_000, callId: "c", stillAskedTimes: 3 };
    const question = { index: 0, prompt: "", options: [], askedAtMs: nowMs, expiresAtMs: nowMs };
    const arrival = { type: "in_doubt" as const, sinceMs: nowMs - 5000 };
    const task = sampleTask({
      state: "asking",
      question: { ...question, answer: { ...answer, arrival } },
    });
    const shownText = { user: "U1", atMs: nowMs - 60_000, arrival, stillAskedTimes: 3 };
    expect(toTaskView({ task, nowMs }).question?.answer).toMatchObject(shownText);
    const lines = summaryOf({ task, nowMs }).join("\n");
    expect(lines).toMatch(
      /Next +send the person's answer .*may have arrived, polls that found the agent still asking: 3\n/,
    );
    expect(lines).toMatch(/Question +asked 0 ms ago, answered by U1 1 min ago\n/);
  });

  it("shows times also as distances from now", () => {
    const call = sampleCall({ deadlineAtMs: nowMs + 7_200_000 });
    const task = sampleTask({
      state: "waiting",
      call,
      wait: { workStartedAtMs: nowMs, polls: 2, pollAfterMs: 1500 },
    });
    const lines = summaryOf({ task, nowMs }).join("\n");
    expect(lines).toMatch(/ Asked +2025-10-09T08:53:20.000Z {2}1 min ago\n/);
    expect(lines).toMatch(/ Deadline +2025-10-09T10:54:50.000Z {2}in 2 h\n/);
    expect(lines).toMatch(/ Polls +2\n/);
  });

  it("hides the internals of the record from a terminal", () => {
    const task = sampleTask({
      state: "waiting",
      lease: { owner: "w-1", untilMs: nowMs + 1 },
      wakeKey: "k-1",
    });
    const lines = summaryOf({ task, nowMs }).join("\n");
    expect(lines).not.toMatch(
      /lease|w-1|wakeSeq|k-1|revision|principal|listedAt|cleanup|traceparent/i,
    );
    expect(toTaskView({ task, nowMs })).toMatchObject({ lease: { owner: "w-1" }, wakeKey: "k-1" });
  });

  it("shows known names and the link of the thread beside the ids", () => {
    const task = sampleTask({ state: "waiting" });
    const { user, channel } = task.message;
    const link = "https://example.slack.com/archives/C1/p11";
    const names = {
      users: new Map([[user, "Hanako"]]),
      channels: new Map([[channel, "#general"]]),
      links: new Map([[task.thread, link]]),
    };
    const lines = summaryOf({ task, nowMs, names }).join("\n");
    expect(lines).toContain(`Hanako (${user})`);
    expect(lines).toContain(`#general (${channel})`);
    expect(lines).toContain(link);
    expect(toListedTask({ task, nowMs, names })).toMatchObject({
      userName: "Hanako",
      channelName: "#general",
      link,
    });
    expect(summaryOf({ task, nowMs }).join("\n")).toMatch(new RegExp(`Person +${user}\n`));
  });

  it("names every field of the record", () => {
    const named = Object.keys(toTaskView({ task: sampleTask(), nowMs }));
    expect(named).toEqual(expect.arrayContaining(Object.keys(taskSchema.shape)));
  });
});

describe("the Execution zone's report about a task", () => {
  it("removes control characters in values of an Execution zone from terminal output", () => {
    const taskId = "\u001b[2J\u001b]0;owned\u0007\u009b31m\u202eid\n";
    const lines = summaryOf({ task: sampleTask({ call: sampleCall({ taskId }) }), nowMs });
    expect(lines).toContainEqual(
      expect.stringMatching(/^ {2}Execution task id +\[2J\]0;owned31mid$/),
    );
  });
});

describe("the next step of a task", () => {
  const question = {
    index: 0,
    prompt: "Shall I?",
    options: [],
    askedAtMs: nowMs,
    expiresAtMs: nowMs + 1,
    ts: "1.1",
  };
  const answer = { user: "U1", atMs: nowMs, option: 0, callId: "c" };
  const lease = (untilMs: number) => ({ lease: { owner: "w", untilMs } });
  const answered = (
    arrival: NonNullable<NonNullable<AgentQuestion["answer"]>["arrival"]>,
  ): Partial<Task> => ({
    state: "asking",
    question: { ...question, answer: { ...answer, arrival } },
  });

  it.each<[string, Partial<Task>, string]>([
    ["polls", {}, "poll"],
    ["is tried again", { attempts: 2 }, "retry: poll"],
    ["has a worker", lease(nowMs + 1), "in progress: "],
    ["lost its worker", lease(nowMs), "after a worker died"],
    ["is to be canceled", { cancelReason: "asked" }, "cancel it"],
    ["is queued", { state: "queued", queuePosition: 2 }, "2 before it"],
    ["may have been sent", { state: "sent", call: sampleCall({ arrival: "in_doubt" }) }, "whether"],
    ["asks", { state: "asking", question }, "wait for a person"],
    [
      "was answered",
      { state: "asking", question: { ...question, answer } },
      "send the person's answer",
    ],
    [
      "may have received the reply",
      answered({ type: "in_doubt", sinceMs: nowMs }),
      "may have arrived",
    ],
    ["has its answer", answered({ type: "arrived" }), "wait for the agent"],
    [
      "is canceled while it asks",
      { state: "asking", question, cancelReason: "unanswered" },
      "cancel it",
    ],
    ["was answered, and the answer has been erased", { state: "done" }, "answered"],
    [
      "failed",
      { state: "done", outcome: { type: "failed", reason: "timeout", lost: true } },
      "timeout, lost",
    ],
    ["was refused", { state: "done", outcome: { type: "refused" } }, "refused"],
  ])("describes the next step of a task that %s", (_what, changes, text) => {
    expect(
      describeNextStep({ task: sampleTask({ state: "waiting", ...changes }), nowMs }),
    ).toContain(text);
  });

  it("shows no outcome for a running task", () => {
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
  ])("formats a duration of %d ms as %s", (ms, text) => expect(formatDuration(ms)).toBe(text));
});
