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
const toldEvidence: Evidence = {
  ...answered,
  posts: [{ kind: "answer", index: 0, text: "words of ours" }],
  hostTask: hostTask("failed"),
};
const unheard: Evidence = {
  ...toldEvidence,
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

describe("nothing is said against a message", () => {
  it.each<[string, Evidence]>([
    ["that its agent answered", answered],
    [
      "that was answered in parts",
      { ...answered, posts: [...answered.posts, { kind: "answer", index: 1, text: "more" }] },
    ],
    ["that was answered in words of ours", toldEvidence],
    [
      "whose agent asked",
      { ...answered, kind: "asked", posts: [...answered.posts, question], starts: 2 },
    ],
    ["whose answer has a file", { ...answered, kind: "filed", files: 1 }],
    [
      "whose file could not be attached, as is said",
      { ...answered, kind: "filed", posts: unattached },
    ],
    [
      "whose agent may go on, as its user was told",
      { ...toldEvidence, record: ambiguous, hostTask: hostTask("working") },
    ],
    ["that was refused, as its person was told", { ...toldEvidence, kind: "refused", starts: 0 }],
    ["that was refused in silence", { ...unheard, isTaken: true, kind: "refused" }],
    ["that nobody ever delivered", unheard],
    ["whose delivery was taken and its 200 lost", { ...answered, isTaken: false }],
  ])("accepts a message %s", (_, evidence) => {
    expect(problemsOf(evidence)).toEqual([]);
  });
});

describe("it is said of a message", () => {
  it.each<[string, Evidence]>([
    ["its record is waiting, not done", { ...toldEvidence, record: { ...done, state: "waiting" } }],
    ["its record is missing, not done", { ...toldEvidence, record: undefined }],
    [
      "its placeholder was left over",
      { ...toldEvidence, posts: [placeholder, ...toldEvidence.posts] },
    ],
    ["it has no answer", { ...toldEvidence, posts: [] }],
    ["it has no answer", { ...toldEvidence, kind: "cancel", starts: 0, posts: [] }],
    [
      "it has parts twice: 0,0",
      { ...toldEvidence, posts: [...toldEvidence.posts, ...toldEvidence.posts] },
    ],
    [
      "parts are missing: 0,2",
      {
        ...toldEvidence,
        posts: [...toldEvidence.posts, { kind: "answer", index: 2, text: "more" }],
      },
    ],
    ["it was asked about 1 times", { ...answered, posts: [...answered.posts, question] }],
    [
      "it was asked about 2 times",
      { ...answered, kind: "asked", starts: 2, posts: [...answered.posts, question, question] },
    ],
    [
      "it is answered, and its agent was started 1 times",
      { ...answered, kind: "asked", posts: [...answered.posts, question] },
    ],
    ["it is answered, and its file is there 0 times", { ...answered, kind: "filed" }],
    ["it is answered, and its file is there 2 times", { ...answered, kind: "filed", files: 2 }],
    ["its agent was started 2 times", { ...toldEvidence, starts: 2 }],
    ["an agent was started for it", { ...toldEvidence, kind: "refused" }],
    [
      "it was told 2 times",
      {
        ...toldEvidence,
        kind: "refused",
        starts: 0,
        posts: [...toldEvidence.posts, ...toldEvidence.posts],
      },
    ],
    ["an agent was started for it", { ...toldEvidence, kind: "cancel" }],
    ["it is answered, and its host says failed", { ...answered, hostTask: hostTask("failed") }],
    ["it is answered, and its agent was started 0 times", { ...answered, starts: 0 }],
    [
      "its answer is there, and its agent still works",
      { ...toldEvidence, hostTask: hostTask("working") },
    ],
    ["it was never taken, and yet something came of it", { ...unheard, starts: 1 }],
  ])("reports that %s", (problem, evidence) => {
    expect(problemsOf(evidence)).toEqual([problem]);
  });

  it("reports an agent that started beside another of its thread, unless that task was ambiguous", () => {
    const overlapping = { ...toldEvidence, overlaps: ["other"] };
    const beside = (record: Evidence["record"]) =>
      new Map([["other", { ...toldEvidence, record }]]);
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
