import { describe, expect, it } from "@jest/globals";
import { groupSteps } from "@sekisho/local/web/timeline-groups.ts";
import type { TimelineStep } from "@sekisho/local/web/timeline-step.ts";

type Short = [atMs: number, zone: string, title: string, more?: Partial<TimelineStep>];
const listSteps = (steps: readonly Short[]): TimelineStep[] =>
  steps.map(([atMs, zone, title, more]) => ({ atMs, zone, title, ...more }));

const answered = listSteps([
  [0, "slack", "Slack sent a signed event", { call: "event" }],
  [20, "slack", "ingress responded 200", { call: "event" }],
  [50, "verification", "worker claimed the task → received"],
  [120, "slack", "chat.postMessage"],
  [130, "verification", "placeholder posted → announced"],
  [150, "verification", "worker claimed the task → sent"],
  [150, "transport", "execute_task", { call: "1" }],
  [260, "transport", "execute_task: half of it", { call: "1" }],
  [270, "verification", "Execution zone responded → delivering"],
  [390, "slack", "chat.update"],
  [400, "verification", "outcome posted → done"],
  [900, "slack", "reactions.add"],
]);

describe("the groups of a timeline", () => {
  it("has one group per state and zone, and one row per call", () => {
    const { groups } = groupSteps(answered);
    expect(
      groups.map(({ zone, state, rows }) => [state, zone, rows.map((row) => row.title)]),
    ).toEqual([
      ["received", "slack", ["Slack sent a signed event", "chat.postMessage"]],
      ["received", "verification", ["worker claimed the task"]],
      ["announced", "verification", ["placeholder posted"]],
      ["sent", "verification", ["worker claimed the task"]],
      ["sent", "transport", ["execute_task: half of it"]],
      ["delivering", "verification", ["Execution zone responded"]],
      ["delivering", "slack", ["chat.update"]],
      ["done", "verification", ["outcome posted"]],
      ["done", "slack", ["reactions.add"]],
    ]);
    expect(groups[4]?.rows[0]).toMatchObject({ tookMs: 110, steps: [{}, {}] });
  });

  it("sums up the time until the outcome was posted", () => {
    expect(groupSteps(answered).sum).toEqual({
      ...{ outcome: "good", state: "done", tookMs: 400 },
      parts: [
        { name: "your agent", tookMs: 120 },
        { name: "Slack", tookMs: 210 },
        { name: "Verification zone", tookMs: 70 },
      ],
    });
  });

  it("counts the time between polls as the agent's, and the time of a question as the reply's", () => {
    const { groups, sum } = groupSteps(
      listSteps([
        [0, "verification", "accepted → waiting"],
        [1000, "transport", "get_task", { call: "1" }],
        [1010, "transport", "get_task", { call: "1" }],
        [2000, "transport", "get_task", { call: "2" }],
        [2020, "transport", "get_task", { call: "2" }],
        [2020, "verification", "question posted → asking"],
        [9020, "slack", "Slack sent a button click"],
      ]),
    );
    // The worker waits, and does not work, between two polls.
    expect(groups.map(({ zone, tookMs }) => [zone, tookMs])).toEqual([
      ["verification", 0],
      ["transport", 2020],
      ["verification", 0],
      ["slack", 0],
    ]);
    expect(groups[1]?.rows).toMatchObject([{ title: "get_task", count: 2, tookMs: 30 }]);
    expect(sum).toMatchObject({ outcome: "open", state: "asking" });
    expect(sum.parts).toEqual([
      { name: "your agent", tookMs: 2020 },
      { name: "the reply", tookMs: 7000 },
    ]);
  });

  it.each([
    [{ failed: true }, "bad"],
    [{ stopped: true }, "stopped"],
    [{}, "good"],
  ])("names the outcome of a task with a step %j", (step, outcome) => {
    const steps = listSteps([
      [0, "verification", "call failed → delivering", step],
      [1, "verification", "outcome posted → done"],
    ]);
    expect(groupSteps(steps).sum.outcome).toBe(outcome);
  });

  it("has no groups without steps", () => {
    expect(groupSteps([])).toMatchObject({ groups: [], sum: { tookMs: 0, parts: [] } });
  });
});
