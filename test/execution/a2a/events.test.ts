/** The events of a stream: folded onto the first task they give the last one, whichever records were seen in between. */
import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import type { A2aTask, StreamEvent } from "../../../contracts/a2a/task.ts";
import { diffTaskEvents, toA2aTask } from "../../../lambdas/execution/a2a/view.ts";
import {
  cancelChange,
  endChange,
  questionChange,
  renewChange,
  reportChange,
  startChange,
  type TaskChange,
} from "../../../lambdas/execution/tasks/changes.ts";
import type { ExecutionTask } from "../../../lambdas/execution/tasks/execution-task.ts";
import { recordOf } from "./records.ts";

const owner = "o";
const text = fc.string({ maxLength: 3 });
const step: fc.Arbitrary<TaskChange> = fc.oneof(
  fc.constant(renewChange({ owner, untilMs: 9 })),
  fc
    .record({ text, percent: fc.nat(100) }, { requiredKeys: [] })
    .map((progress) => reportChange({ owner, news: { progress } })),
  text.map((name) => (task: ExecutionTask) => {
    const artifacts = [...(task.artifacts ?? []), { name, text: name }];
    return reportChange({ owner, news: { artifacts } })(task);
  }),
);
const last: fc.Arbitrary<TaskChange> = fc.oneof(
  text.map((said) => endChange({ owner, outcome: { type: "success", text: said }, expiresAtMs: 9 })),
  fc.constant(endChange({ owner, outcome: { type: "failure", reason: "timeout" }, expiresAtMs: 9 })),
  text.map((prompt) => questionChange({ owner, question: { prompt, messageId: "q" }, expiresAtMs: 9 })),
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
  const { artifact } = event.artifactUpdate;
  const others = (task.artifacts ?? []).filter(({ artifactId }) => artifactId !== artifact.artifactId);
  return { ...task, artifacts: [...others, artifact] };
}

describe("the events between two views", () => {
  it("lead from the first to the last, whatever was skipped, and say nothing where nothing visible changed", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 6 }), last, fc.infiniteStream(fc.boolean()), (steps, ending, seen) => {
        let record = startChange({ owner, untilMs: 5 })(recordOf({ state: "submitted" })) ?? recordOf();
        const first = toA2aTask({ task: record, historyLength: 0 });
        let [previous, folded] = [first, first];
        for (const [index, change] of [...steps, ending].entries()) {
          record = change(record) ?? record;
          if (index < steps.length && !seen.next().value) continue;
          const next = toA2aTask({ task: record, historyLength: 0 });
          const events = diffTaskEvents({ previous, next });
          expect(events.length === 0).toBe(JSON.stringify(next) === JSON.stringify(previous));
          folded = events.reduce(fold, folded);
          previous = next;
        }
        expect(folded).toEqual(toA2aTask({ task: record, historyLength: 0 }));
      }),
      { numRuns: 200 },
    );
  });

  it("are the artifacts, each whole, before the state that follows them", () => {
    const previous = toA2aTask({ task: recordOf() });
    const artifacts = [{ text: "one" }, { text: "two" }];
    const outcome = { type: "success" as const, text: "done" };
    const next = toA2aTask({ task: recordOf({ state: "completed", artifacts, outcome }) });
    const events = diffTaskEvents({ previous, next });
    const names = events.map((event) =>
      "artifactUpdate" in event ? event.artifactUpdate.artifact.artifactId : "status",
    );
    expect(names).toEqual(["artifact-1", "artifact-2", "answer", "status"]);
    expect(events[0]).toMatchObject({ artifactUpdate: { append: false, lastChunk: true, contextId: "context-1" } });
  });
});
