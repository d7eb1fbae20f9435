import { describe, expect, it } from "@jest/globals";
import type { ExecutionTask } from "@sekisho/execution/tasks/execution-task.ts";
import { sampleTask } from "../../verification/task/sample.ts";
import { type Evidence, leaksOf, violationsOf } from "./checks.ts";

const done = sampleTask({ state: "done", cleanupDone: true });
const ambiguous = sampleTask({
  state: "done",
  outcome: { type: "failed", reason: "ambiguous", lost: false },
});
const requestId = done.id;

function hostTask(state: ExecutionTask["state"]): ExecutionTask {
  return {
    id: "a-task",
    revision: 3,
    state,
    principal: "anyone",
    expiresAtMs: 0,
    requestId,
    correlationId: requestId,
    fingerprint: "",
    trace: done.trace,
    createdAtMs: 0,
    changedAtMs: 0,
    deadlineAtMs: 0,
  };
}

const answered: Evidence = {
  requestId,
  kind: "sync",
  isTaken: true,
  posts: [{ kind: "answer", index: 0, text: "I'm the echo agent. Good morning." }],
  files: 0,
  starts: 1,
  overlaps: [],
  record: done,
  hostTask: hostTask("completed"),
};
const question = { kind: "question", index: 0, text: "Shall I go on?" } as const;
const placeholder = { kind: "placeholder", index: 0, text: "…" } as const;
const unattached = [
  { kind: "answer", index: 0, text: "I'm the echo agent. I couldn't attach this file: gate.png" },
] as const;
const postedEvidence: Evidence = {
  ...answered,
  posts: [{ kind: "answer", index: 0, text: "words of ours" }],
  hostTask: hostTask("failed"),
};
const unheard: Evidence = {
  ...postedEvidence,
  isTaken: false,
  record: undefined,
  hostTask: undefined,
  posts: [],
  starts: 0,
};

const problemsOf = (evidence: Evidence, others = new Map<string, Evidence>()) =>
  violationsOf({ evidence, others }).map((line) =>
    line.slice(`${requestId} (${evidence.kind}): `.length),
  );

describe("a message without a problem", () => {
  it.each<[string, Evidence]>([
    ["that its agent answered", answered],
    [
      "that was answered in parts",
      { ...answered, posts: [...answered.posts, { kind: "answer", index: 1, text: "more" }] },
    ],
    ["that got one of our own texts as the answer", postedEvidence],
    [
      "whose agent asked a question",
      { ...answered, kind: "asked", posts: [...answered.posts, question], starts: 2 },
    ],
    ["whose answer has a file", { ...answered, kind: "filed", files: 1 }],
    ["whose missing file the answer reports", { ...answered, kind: "filed", posts: unattached }],
    [
      "whose user was notified that the agent may continue",
      { ...postedEvidence, record: ambiguous, hostTask: hostTask("working") },
    ],
    ["that was refused with a notice", { ...postedEvidence, kind: "refused", starts: 0 }],
    ["that was refused without a notice", { ...unheard, isTaken: true, kind: "refused" }],
    ["that was never delivered", unheard],
    ["whose delivery was accepted although its 200 was lost", { ...answered, isTaken: false }],
  ])("accepts a message %s", (_, evidence) => {
    expect(problemsOf(evidence)).toEqual([]);
  });
});

describe("a message with a problem", () => {
  it.each<[string, Evidence]>([
    [
      "its record is waiting, not done",
      { ...postedEvidence, record: { ...done, state: "waiting" } },
    ],
    ["its record is missing, not done", { ...postedEvidence, record: undefined }],
    [
      "its placeholder remains",
      { ...postedEvidence, posts: [placeholder, ...postedEvidence.posts] },
    ],
    ["it has no answer", { ...postedEvidence, posts: [] }],
    ["it has no answer", { ...postedEvidence, kind: "cancel", starts: 0, posts: [] }],
    [
      "it has parts twice: 0,0",
      { ...postedEvidence, posts: [...postedEvidence.posts, ...postedEvidence.posts] },
    ],
    [
      "parts are missing: 0,2",
      {
        ...postedEvidence,
        posts: [...postedEvidence.posts, { kind: "answer", index: 2, text: "more" }],
      },
    ],
    ["it has 1 questions", { ...answered, posts: [...answered.posts, question] }],
    [
      "it has 2 questions",
      { ...answered, kind: "asked", starts: 2, posts: [...answered.posts, question, question] },
    ],
    [
      "it is answered, and its agent was started 1 times",
      { ...answered, kind: "asked", posts: [...answered.posts, question] },
    ],
    ["it is answered, and its file is there 0 times", { ...answered, kind: "filed" }],
    ["it is answered, and its file is there 2 times", { ...answered, kind: "filed", files: 2 }],
    ["its agent was started 2 times", { ...postedEvidence, starts: 2 }],
    ["an agent was started for it", { ...postedEvidence, kind: "refused" }],
    [
      "it got 2 posts",
      {
        ...postedEvidence,
        kind: "refused",
        starts: 0,
        posts: [...postedEvidence.posts, ...postedEvidence.posts],
      },
    ],
    ["an agent was started for it", { ...postedEvidence, kind: "cancel" }],
    ["it is answered, and its host reports failed", { ...answered, hostTask: hostTask("failed") }],
    ["it is answered, and its agent was started 0 times", { ...answered, starts: 0 }],
    [
      "its answer is there, and its agent still works",
      { ...postedEvidence, hostTask: hostTask("working") },
    ],
    ["it was never accepted, and yet it has effects", { ...unheard, starts: 1 }],
  ])("reports that %s", (problem, evidence) => {
    expect(problemsOf(evidence)).toEqual([problem]);
  });

  it("reports an agent that started beside another of its thread, unless that task was ambiguous", () => {
    const overlapping = { ...postedEvidence, overlaps: ["other"] };
    const beside = (record: Evidence["record"]) =>
      new Map([["other", { ...postedEvidence, record }]]);
    expect(problemsOf(overlapping, beside(done))).toEqual([
      "its agent was started while other of the same thread was at work",
    ]);
    expect(problemsOf(overlapping, beside(ambiguous))).toEqual([]);
    expect(problemsOf(overlapping, beside({ ...done, thread: "C/another" }))).toEqual([]);
  });
});

it("finds a secret in a log, and does not repeat it", () => {
  expect(leaksOf({ text: "{… xoxb-1 …}", secrets: { TOKEN: "xoxb-1", OTHER: "xoxb-2" } })).toEqual([
    "TOKEN is in a log",
  ]);
});
