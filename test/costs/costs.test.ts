/** The estimate behind docs/explanation/costs.md. */
import { describe, expect, it } from "@jest/globals";
import { defaultSyncBudgetMs } from "@sekisho/config/call-time.ts";
import { textOf } from "../docs/pages.ts";
import { assumptions } from "./assumptions.ts";
import { type Estimate, estimate, planPolls, type Scenario } from "./estimate.ts";
import { withTables } from "./table.ts";
import { type MeasuredKind, measuredKinds, sum } from "./task-cost.ts";

const estimateOf = (scenario: Partial<Scenario> = {}) =>
  estimate({ tasks: 100_000, taskSeconds: 30, ...scenario });

function monthOf({ months }: Estimate, kind: MeasuredKind) {
  const month = months.find((each) => each.kind === kind);
  if (month === undefined) throw new Error(`No month of ${kind}.`);
  return month;
}

const countPolls = (taskMs: number, kind: MeasuredKind) => planPolls({ kind, taskMs }).polls;

describe("the polls of a task", () => {
  it("counts no poll for an immediate result, and the last poll after the end of the task", () => {
    expect(countPolls(defaultSyncBudgetMs, "agentcore")).toBe(0);
    expect(countPolls(defaultSyncBudgetMs + 1, "agentcore")).toBe(1);
  });

  it("counts fewer polls for an Execution zone that pushes", () => {
    const kinds = ["agentcore", "lambda", "external"] as const;
    expect(kinds.map((kind) => countPolls(30_000, kind))).toEqual([3, 3, 16]);
  });

  it("polls long tasks rarely, but twice in the idle time of an AgentCore session", () => {
    const minutes = [10, 60, 480];
    expect(minutes.map((each) => countPolls(each * 60_000, "lambda"))).toEqual([22, 35, 91]);
    expect(countPolls(8 * 3600_000, "agentcore")).toBeGreaterThan(8 * 60);
  });
});

describe("the estimate", () => {
  it("adds polls, lease renewals and the push of the end to the calls of a longer task", () => {
    const taskSeconds = 600;
    for (const [kind, renewals, pushes] of [
      ["agentcore", taskSeconds / assumptions.renewSeconds.value, 1],
      ["external", 0, 0],
    ] as const) {
      const { polls, stored } = planPolls({ kind, taskMs: taskSeconds * 1000 });
      const { sync, perPoll, logBytes } = measuredKinds[kind];
      const { callsPerTask, logBytesPerTask } = monthOf(estimateOf({ taskSeconds }), kind);
      const countOf = (name: string) => (sync[name] ?? 0) + polls * (perPoll[name] ?? 0);
      expect(callsPerTask).toMatchObject({
        "dynamodb:GetItem": countOf("dynamodb:GetItem") + pushes,
        "dynamodb:UpdateItem": countOf("dynamodb:UpdateItem") + renewals + stored,
        "sqs:SendMessage": countOf("sqs:SendMessage") + pushes,
        "sqs:ReceiveMessage": countOf("sqs:SendMessage") + pushes,
      });
      expect(logBytesPerTask).toBe(logBytes.sync + polls * logBytes.perPoll);
    }
  });

  it("counts the cost of custom metrics only for the hours with tasks", () => {
    const costOf = (tasks: number) => monthOf(estimateOf({ tasks }), "agentcore").metricDollars;
    expect(costOf(1e6)).toBeCloseTo(0.3 * measuredKinds.agentcore.customMetrics);
    expect(costOf(72)).toBeCloseTo(costOf(1e6) / 10);
  });

  it("adds a dollar for each key in the second year and in the third", () => {
    for (const { yearsDollars, stageDollars } of estimateOf().months) {
      const [first = 0, ...later] = yearsDollars;
      const keys = stageDollars["KMS keys"];
      expect(first).toBeCloseTo(sum(Object.values(stageDollars)));
      expect(later.map((year) => Math.round(year - first))).toEqual([keys, 2 * keys]);
    }
  });

  it("sums all costs, and only the cost of tasks grows with their number", () => {
    const twice = estimateOf({ tasks: 200_000 });
    for (const { kind, taskDollars, metricDollars, stageDollars, totalDollars } of estimateOf()
      .months) {
      const ofTasks = sum(Object.values(taskDollars));
      const ofStage = metricDollars + sum(Object.values(stageDollars));
      expect(totalDollars).toBeCloseTo(ofTasks + ofStage);
      expect(monthOf(twice, kind).totalDollars).toBeCloseTo(2 * ofTasks + ofStage);
    }
  });

  it("ends the idle time of an AgentCore session at the end of its lifetime", () => {
    const idle = (scenario: Partial<Scenario>) =>
      monthOf(estimateOf(scenario), "agentcore").taskDollars["AgentCore, session idle"];
    expect(idle({ idleSeconds: 900 })).toBeCloseTo(3 * idle({ idleSeconds: 300 }));
    expect(idle({ idleSeconds: 900, taskSeconds: 8 * 3600 })).toBe(0);
  });

  it("omits tasks of eight hours on Lambda", () => {
    const { costs } = estimateOf().lengths.at(-1) ?? {};
    expect(Object.keys(costs ?? {})).toEqual(["agentcore", "external"]);
  });
});

it("docs/explanation/costs.md shows the tables of the estimate (else: npm run costs)", () => {
  const page = textOf("docs/explanation/costs.md");
  expect(page).toBe(withTables(page));
});
