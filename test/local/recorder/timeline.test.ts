/** The timeline of a task, from the records of both zones and from what the local run saw. */
import { describe, expect, it } from "@jest/globals";
import type { ExecutionTask } from "@sekisho/execution/tasks/execution-task.ts";
import { describeEventName } from "@sekisho/local/recorder/event-text.ts";
import { createTimeline, type TimelineStep } from "@sekisho/local/recorder/timeline.ts";
import type { AgentQuestion } from "@sekisho/verification/task/task.ts";
import { knownExecution, knownTask, secretText } from "../../cli/tasks/known.ts";

const startMs = 1_760_000_000_000;
const nowMs = startMs + 60_000;
const task = knownTask({ startMs });
const titlesOf = (steps: readonly TimelineStep[]) => steps.map(({ title }) => title);
const timelineOf = (execution?: ExecutionTask) => createTimeline({ task, execution, nowMs });

describe("the timeline of a task", () => {
  it("lists the history of the record", () => {
    expect(titlesOf(timelineOf())).toEqual([
      "message queued",
      "placeholder posted → announced",
      "worker claimed the task → sent",
      "Execution zone responded → delivering",
      "outcome posted → done",
    ]);
  });

  it("lists the steps of the Execution zone in order of time", () => {
    const steps = timelineOf(knownExecution({ startMs }));
    expect(titlesOf(steps).slice(3, 5)).toEqual([
      "task stored → submitted",
      "agent finished → completed",
    ]);
    const times = steps.map(({ atMs }) => atMs);
    expect(times).toEqual([...times].sort((a, b) => a - b));
  });

  it("shows an event of another version by its name", () => {
    expect(describeEventName("of_tomorrow")).toBe("of tomorrow");
    expect(describeEventName("constructor")).toBe("constructor");
  });

  it("lists the question, its reply, polls and progress of a running task, without any text", () => {
    const question: AgentQuestion = {
      index: 0,
      prompt: secretText,
      options: [{ id: "yes", label: secretText }],
      askedAtMs: startMs + 500,
      expiresAtMs: startMs + 5000,
      answer: {
        user: "U7",
        atMs: startMs + 900,
        option: 0,
        text: secretText,
        callId: "c",
        arrival: { type: "arrived" },
        stillAskedTimes: 2,
      },
    };
    const progress = { text: secretText, percent: 40, shownAtMs: startMs + 1200 };
    const polled = { wait: { workStartedAtMs: startMs, polls: 7, polledAtMs: startMs + 1300 } };
    const waiting = knownTask({ startMs, state: "waiting", question, progress, ...polled });
    const steps = createTimeline({ task: waiting, execution: undefined, nowMs });
    expect(steps).toMatchObject([
      {},
      {},
      {},
      { title: "agent asked a question", detail: { question: 1, options: 1 } },
      {
        title: "reply given, and the agent has it",
        detail: { question: 1, user: "U7", option: 1, still_asked: 2 },
      },
      { title: "latest progress shown", detail: { percent: 40 } },
      { title: "latest poll", detail: { polls: 7 } },
      {},
      {},
    ]);
    expect(JSON.stringify(steps)).not.toContain(secretText);
  });

  it("reports that the lease of the agent's run has expired", () => {
    const run = (untilMs: number) =>
      titlesOf(
        timelineOf(knownExecution({ startMs, state: "working", lease: { owner: "o", untilMs } })),
      );
    expect(run(nowMs - 1)).toContain("lease of the agent's run expired");
    expect(run(nowMs + 1)).not.toContain("lease of the agent's run expired");
    expect(run(nowMs + 1)).toContain("agent started → working");
  });
});
