/** What an A2A client sees of a task's record, and of its changes. */
import { describe, expect, it } from "@jest/globals";
import { taskKey } from "@sekisho/contracts/a2a/extension.ts";
import { type A2aTask, a2aTaskSchema, type StreamEvent } from "@sekisho/contracts/a2a/task.ts";
import { createDirectMessage, diffTaskEvents, toA2aTask } from "@sekisho/execution/a2a/view.ts";
import {
  cancelChange,
  endChange,
  questionChange,
  renewChange,
  reportChange,
  startChange,
  type TaskChange,
} from "@sekisho/execution/tasks/changes.ts";
import type { ExecutionOutcome, ExecutionTask } from "@sekisho/execution/tasks/execution-task.ts";
import fc from "fast-check";
import { recordOf, taskId } from "../tasks/records.ts";

const success: ExecutionOutcome = { type: "success", text: "All of them." };

const failWith = (
  reason: "timeout" | "execution_failed" | "plan_error",
  lost?: true,
): ExecutionOutcome => ({
  type: "failure",
  reason,
  ...(lost && { lost }),
});

const question = {
  prompt: "Which one?",
  options: [{ id: "a", label: "The first" }],
  messageId: "question-1",
};

describe("the state", () => {
  it.each<[string, Partial<ExecutionTask>, string, string | undefined, unknown]>([
    ["new", { state: "submitted" }, "SUBMITTED", undefined, { poll_after_ms: 1000 }],
    ["under way", {}, "WORKING", undefined, { poll_after_ms: 1000 }],
    [
      "working, with a text",
      { progress: { text: "Reading", percent: 40 } },
      "WORKING",
      "Reading",
      { poll_after_ms: 1000, percent: 40 },
    ],
    [
      "working, with steps",
      { progress: { steps: [{ id: "a", title: "Read", status: "pending" }] } },
      ...([
        "WORKING",
        undefined,
        { poll_after_ms: 1000, steps: [{ id: "a", title: "Read", status: "pending" }] },
      ] as const),
    ],
    [
      "asking a question",
      { state: "input_required", question },
      "INPUT_REQUIRED",
      "Which one?",
      undefined,
    ],
    [
      "asking for credentials",
      { state: "input_required", question: { ...question, kind: "auth" } },
      "AUTH_REQUIRED",
      "Which one?",
      undefined,
    ],
    ["completed", { state: "completed", outcome: success }, "COMPLETED", undefined, undefined],
    [
      "over its deadline",
      { state: "failed", outcome: failWith("timeout") },
      "FAILED",
      "The task took longer than it was given.",
      { reason: "timeout" },
    ],
    [
      "lost",
      { state: "failed", outcome: failWith("execution_failed", true) },
      "FAILED",
      "The agent ran and failed.",
      { reason: "execution_failed", lost: true },
    ],
    [
      "rejected by its agent",
      { state: "rejected", outcome: failWith("plan_error") },
      "REJECTED",
      "The agent cannot plan the task.",
      { reason: "plan_error" },
    ],
    ["canceled", { state: "canceled" }, "CANCELED", "The task was canceled.", undefined],
  ])("shows the state of a task that is %s", (_name, record, state, text, notes) => {
    const task = toA2aTask({ task: recordOf(record) });
    expect(a2aTaskSchema.parse(task)).toEqual(task);
    const { status, metadata, id, contextId } = task;
    expect([id, contextId, status.state]).toEqual([taskId, "context-1", `TASK_STATE_${state}`]);
    expect(status.timestamp).toBe("2025-11-10T04:51:40.500Z");
    expect(status.message?.parts).toEqual(text === undefined ? undefined : [{ text }]);
    expect(metadata?.[taskKey]).toEqual(notes);
  });

  it("gives a status message the same id at every read, and another id for another text", () => {
    const idOf = (record: Partial<ExecutionTask>) =>
      toA2aTask({ task: recordOf(record) }).status.message?.messageId;
    const reading = { progress: { text: "Reading" } };
    const ids = [
      reading,
      { progress: { text: "Writing" } },
      { state: "completed" as const, outcome: success },
    ].map(idOf);
    expect(idOf(reading)).toBe(ids[0]);
    expect(new Set(ids).size).toBe(3);
    expect(idOf({ state: "input_required", question })).toBe("question-1");
  });
});

describe("artifacts", () => {
  it("lists artifacts in the agent's order, with the text of the answer at the end", () => {
    const artifacts = [
      { name: "a.txt", mimetype: "text/plain", text: "made" },
      { name: "b.bin", mimetype: "image/png", base64: "AAEC" },
      { url: "https://files.example/c" },
      { name: "d.json", data: null },
      { text: "both", data: [1] },
      { kind: "of another maker", size: 3 },
    ];
    const { artifacts: shownArtifacts } = toA2aTask({
      task: recordOf({ state: "completed", artifacts, outcome: success }),
    });
    expect(shownArtifacts).toEqual([
      {
        artifactId: "artifact-1",
        name: "a.txt",
        parts: [{ text: "made", mediaType: "text/plain", filename: "a.txt" }],
      },
      {
        artifactId: "artifact-2",
        name: "b.bin",
        parts: [{ raw: "AAEC", mediaType: "image/png", filename: "b.bin" }],
      },
      { artifactId: "artifact-3", parts: [{ url: "https://files.example/c" }] },
      { artifactId: "artifact-4", name: "d.json", parts: [{ data: null, filename: "d.json" }] },
      { artifactId: "artifact-5", parts: [{ text: "both" }, { data: [1] }] },
      { artifactId: "artifact-6", parts: [{ data: { kind: "of another maker", size: 3 } }] },
      { artifactId: "answer", parts: [{ text: "All of them." }] },
    ]);
  });

  it("omits artifacts and status message for an empty result", () => {
    const task = toA2aTask({
      task: recordOf({ state: "completed", outcome: { type: "success", text: "" } }),
    });
    expect([task.artifacts, task.status.message]).toEqual([undefined, undefined]);
  });
});

describe("history", () => {
  it.each([
    [undefined, ["message-1", "message-2", "message-3"]],
    [0, undefined],
    [2, ["message-2", "message-3"]],
    [9, ["message-1", "message-2", "message-3"]],
  ])("limits the history to a length of %s", (historyLength, ids) => {
    expect(
      toA2aTask({ task: recordOf(), historyLength }).history?.map(({ messageId }) => messageId),
    ).toEqual(ids);
  });
});

describe("an answer that needs no task", () => {
  const direct: ExecutionOutcome = { type: "success", text: "Hello.", direct: true };

  it("turns a direct answer into a message with its artifacts and context but no task id", () => {
    const message = createDirectMessage(
      recordOf({ state: "completed", outcome: direct, artifacts: [{ data: 7 }] }),
    );
    expect(message).toEqual({
      messageId: expect.any(String),
      contextId: "context-1",
      role: "ROLE_AGENT",
      parts: [{ text: "Hello." }, { data: 7 }],
    });
  });

  it.each<[string, Partial<ExecutionTask>]>([
    ["is under way", {}],
    ["completed without a direct answer", { state: "completed", outcome: success }],
    ["failed", { state: "failed", outcome: failWith("timeout") }],
  ])("creates no direct message for a task that %s", (_name, record) => {
    expect(createDirectMessage(recordOf(record))).toBeUndefined();
  });
});

const owner = "o";
const text = fc.string({ maxLength: 3 });

const step: fc.Arbitrary<TaskChange> = fc.oneof(
  fc.constant(renewChange({ owner, untilMs: 9 })),
  fc
    .record({ text, percent: fc.nat(100), partial_text: text }, { requiredKeys: [] })
    .map((progress) => reportChange({ owner, news: { progress } })),
  text.map((name) => (task: ExecutionTask) => {
    const artifacts = [...(task.artifacts ?? []), { name, text: name }];
    return reportChange({ owner, news: { artifacts } })(task);
  }),
);

const last: fc.Arbitrary<TaskChange> = fc.oneof(
  text.map((text) => endChange({ owner, outcome: { type: "success", text }, expiresAtMs: 9 })),
  fc.constant(
    endChange({ owner, outcome: { type: "failure", reason: "timeout" }, expiresAtMs: 9 }),
  ),
  text.map((prompt) =>
    questionChange({ owner, question: { prompt, messageId: "q" }, expiresAtMs: 9 }),
  ),
  fc.constant(cancelChange({ expiresAtMs: 9 })),
);

/** A client's view: the task of the first event, and what the others say of it. */
function fold(task: A2aTask, event: StreamEvent): A2aTask {
  if ("statusUpdate" in event) {
    const { metadata: _metadata, ...others } = task;
    const { status, metadata } = event.statusUpdate;
    return { ...others, status, ...(metadata && { metadata }) };
  }
  if (!("artifactUpdate" in event)) throw new Error("not after the first event");
  const { artifact, append } = event.artifactUpdate;
  const { artifacts = [], ...others } = task;
  const isSame = ({ artifactId }: { artifactId: string }) => artifactId === artifact.artifactId;
  const earlierText = append ? artifacts.find(isSame)?.parts[0]?.text : "";
  const [part] = artifact.parts;
  const nextArtifact =
    part?.text === undefined
      ? artifact
      : { ...artifact, parts: [{ ...part, text: `${earlierText}${part.text}` }] };
  // The beginning of an answer that does not come is empty.
  const isWithdrawn = artifact.artifactId === "answer" && nextArtifact.parts[0]?.text === "";
  const nextArtifacts = [
    ...artifacts.filter((one) => !isSame(one)),
    ...(isWithdrawn ? [] : [nextArtifact]),
  ];
  return { ...others, ...(nextArtifacts.length > 0 && { artifacts: nextArtifacts }) };
}

/** A client sees the artifacts in the order in which they came. */
function sorted({ artifacts = [], ...others }: A2aTask) {
  return {
    ...others,
    artifacts: artifacts.toSorted((a, b) => (a.artifactId < b.artifactId ? -1 : 1)),
  };
}

describe("the events between two views", () => {
  it("creates events that turn the first view into the last, and no event without a visible change", () => {
    fc.assert(
      fc.property(
        fc.array(step, { maxLength: 6 }),
        last,
        fc.infiniteStream(fc.boolean()),
        (steps, ending, wireStates) => {
          let record =
            startChange({ owner, untilMs: 5 })(recordOf({ state: "submitted" })) ?? recordOf();
          const first = toA2aTask({ task: record, historyLength: 0 });
          let [previous, foldedTask] = [first, first];
          for (const [index, change] of [...steps, ending].entries()) {
            record = change(record) ?? record;
            if (index < steps.length && !wireStates.next().value) continue;
            const next = toA2aTask({ task: record, historyLength: 0 });
            const events = diffTaskEvents({ previous, next });
            expect(events.length === 0).toBe(JSON.stringify(next) === JSON.stringify(previous));
            foldedTask = events.reduce(fold, foldedTask);
            previous = next;
          }
          expect(sorted(foldedTask)).toEqual(sorted(toA2aTask({ task: record, historyLength: 0 })));
        },
      ),
      { numRuns: 200 },
    );
  });

  it("sends what an answer that is being written grew by, and withdraws one that does not come", () => {
    const viewOf = (record: Partial<ExecutionTask>) => toA2aTask({ task: recordOf(record) });
    const writing = (partial_text: string) => viewOf({ progress: { partial_text } });
    const ended = viewOf({ state: "completed", outcome: success });
    const views = [
      ...[viewOf({}), writing("All"), writing("All of"), writing("Some of"), writing("All of")],
      ...[ended, writing("All"), viewOf({ state: "canceled" })],
    ];
    const updates = views.slice(1).map((next, index) => {
      const [event] = diffTaskEvents({ previous: views[index] as A2aTask, next });
      const { artifact, append, lastChunk } = Object(event).artifactUpdate;
      return [artifact.parts[0].text, append, lastChunk];
    });
    expect(updates).toEqual([
      ["All", false, false],
      [" of", true, false],
      ["Some of", false, false],
      ["All of", false, false],
      [" them.", true, true],
      ["All", false, false],
      ["", false, true],
    ]);
  });

  it("sends each artifact whole, before the state that follows", () => {
    const previous = toA2aTask({ task: recordOf() });
    const artifacts = [{ text: "one" }, { text: "two" }];
    const outcome = { type: "success" as const, text: "done" };
    const next = toA2aTask({ task: recordOf({ state: "completed", artifacts, outcome }) });
    const events = diffTaskEvents({ previous, next });
    const names = events.map((event) =>
      "artifactUpdate" in event ? event.artifactUpdate.artifact.artifactId : "status",
    );
    expect(names).toEqual(["artifact-1", "artifact-2", "answer", "status"]);
    expect(events[0]).toMatchObject({
      artifactUpdate: { append: false, lastChunk: true, contextId: "context-1" },
    });
  });
});
