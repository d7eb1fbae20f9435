import { beforeAll, describe, expect, it } from "@jest/globals";
import { assumptions } from "../../../costs/assumptions.ts";
import { measuredKinds } from "../../../costs/task-cost.ts";
import type { HotKey } from "./capacity.ts";
import { callsPerTask, growthProblems, reportLines, tasksPerSecond } from "./report.ts";
import { type AwsLoadReport, runAwsLoad } from "./run-aws.ts";

describe("the aws engine with ten times as many tasks that wait", () => {
  let few: AwsLoadReport;
  let many: AwsLoadReport;

  beforeAll(async () => {
    few = await runAwsLoad({ tasks: 200, seed: 1 });
    many = await runAwsLoad({ tasks: 2000, seed: 1 });
  });

  it("answers each task once while ten times as many tasks wait", () => {
    expect([...few.problems, ...many.problems]).toEqual([]);
    expect([few.mostWaiting, many.mostWaiting]).toEqual([200, 2000]);
  });

  it("makes as many calls per task while ten times as many tasks wait, and no query or scan", () => {
    const grown = growthProblems({ few, many }).filter((problem) => !problem.includes("heap"));
    expect(grown).toEqual([]);
    const calls = callsPerTask(many);
    // Only a worker that has seen the thread leaves it with the write of the record.
    expect(calls["dynamodb:TransactWriteItems"]).toBeLessThanOrEqual(1);
    expect(calls["host:execute_task"]).toBe(1);
    expect(calls.polls).toBeGreaterThan(5);
    expect(Object.keys(calls).filter((name) => /Query|Scan/.test(name))).toEqual([]);
  });

  it("stays within the estimated write units of the table and matches those of the indexes", () => {
    const units = (place: string) =>
      many.hotKeys
        .filter(
          (key) =>
            key.place === place && key.direction === "writes" && !key.family.startsWith("usage"),
        )
        .reduce((sum, { familyUnits }) => sum + familyUnits / many.tasks, 0);
    const { recordKb, transactionKb, indexWrites, personIndexWrites } = assumptions;
    const { sync } = measuredKinds.external;
    const writes = (sync["dynamodb:PutItem"] ?? 0) + (sync["dynamodb:UpdateItem"] ?? 0);
    // Every tenth poll stores the record.
    const estimated =
      (writes + many.polls / many.tasks / 10) * recordKb.value + 2 * transactionKb.value;
    expect(units("table")).toBeGreaterThan(0.7 * estimated);
    expect(units("table")).toBeLessThanOrEqual(estimated);
    expect(units("by-shard")).toBeCloseTo(indexWrites.value, 1);
    expect(units("by-principal")).toBeCloseTo(personIndexWrites.value, 1);
  });

  it("spreads open tasks over keys that take more than 10,000 tasks a second", () => {
    const open = many.hotKeys.find(({ family }) => family === "open#…");
    expect(open?.keys).toBe(32);
    expect(open && tasksPerSecond({ key: open, tasks: many.tasks })).toBeGreaterThan(10_000);
    expect(reportLines({ few, many }).join("\n")).toContain("by-shard open#… writes");
  });
});

describe("the check of two runs", () => {
  const key: HotKey = {
    place: "table",
    family: "counter",
    direction: "writes",
    keys: 1,
    familyUnits: 1000,
    key: "counter",
    units: 1000,
    share: 0.2,
  };
  const report = (tasks: number, changes: Partial<AwsLoadReport> = {}): AwsLoadReport => ({
    tasks,
    problems: [],
    mostWaiting: tasks,
    calls: { "dynamodb:GetItem": 2 * tasks },
    polls: 0,
    hotKeys: [],
    totals: [],
    heap: [
      { waiting: tasks / 10, bytes: 30e6 },
      { waiting: tasks, bytes: 31e6 },
    ],
    ...changes,
  });
  const few = report(100);

  it("reports nothing if nothing has grown", () => {
    expect(growthProblems({ few, many: report(1000) })).toEqual([]);
  });

  it.each<[string, Partial<AwsLoadReport>]>([
    ["a call that each task makes more often", { calls: { "dynamodb:GetItem": 2500 } }],
    [
      "a call that only many tasks make",
      { calls: { "dynamodb:GetItem": 2000, "dynamodb:Query": 200 } },
    ],
    ["a key that each task writes", { hotKeys: [key] }],
    [
      "a heap that grows with the tasks",
      {
        heap: [
          { waiting: 100, bytes: 30e6 },
          { waiting: 1000, bytes: 50e6 },
        ],
      },
    ],
  ])("reports %s", (_what, changes) => {
    expect(growthProblems({ few, many: report(1000, changes) })).toHaveLength(1);
  });

  it("accepts a key whose share shrinks, such as that of one channel", () => {
    const channel = { ...key, family: "usage:channel:…" };
    const before = report(100, { hotKeys: [{ ...channel, share: 0.5 }] });
    expect(
      growthProblems({
        few: before,
        many: report(1000, { hotKeys: [{ ...channel, share: 0.05 }] }),
      }),
    ).toEqual([]);
  });
});
