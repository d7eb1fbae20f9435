import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { assumptions } from "../../../bin/aws/cost/assumptions.ts";
import { readMeasuredCalls } from "../../../bin/aws/cost/calls.ts";
import { pollsOf } from "../../../bin/aws/cost/polls.ts";
import { reckon } from "../../../bin/aws/cost/reckon.ts";
import { costTable } from "../../../bin/aws/cost/table.ts";
import { withSection } from "../../../bin/aws/cost/write-section.ts";
import { commandsInFolder } from "../commands-in-folder.ts";

const { folder, run } = commandsInFolder();
const operations = readFileSync(join(__dirname, "../../../docs/operations.md"), "utf8");
const measured = readMeasuredCalls();

const schedule = { syncBudgetMs: 20_000, pollAfterMs: 1000, stepMs: 100 };
const polls = (taskMs: number) => pollsOf({ ...schedule, taskMs });

describe("the polls of a task", () => {
  it("are none where the first call brings the result, and else the last comes after the end", () => {
    expect(polls(20_000)).toBe(0);
    expect(polls(20_001)).toBe(1);
  });

  it("grow with the logarithm of the time until the longest delay is reached", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 30_000 }), (waitedMs) => {
        const logarithm = Math.log(1 + waitedMs / 1000) / Math.log(1.5);
        expect(polls(schedule.syncBudgetMs + waitedMs)).toBeLessThanOrEqual(Math.ceil(logarithm) + 1);
      }),
    );
  });

  it("from then on come at a constant rate", () => {
    fc.assert(
      fc.property(fc.integer({ min: 120_000, max: 8 * 3600_000 }), (taskMs) => {
        expect(polls(taskMs + 15_600) - polls(taskMs)).toBe(1);
      }),
    );
  });
});

describe("the reckoning", () => {
  const { columns } = reckon({ tasks: 1000, measured });
  const of = (kind: string, task: string) => columns.find((column) => column.kind === kind && column.task === task);

  it("counts the measured calls, and those that Lambda makes for each message", () => {
    const sync = of("agentcore", "sync");
    const measuredSync = measured.kinds.agentcore.sync;
    expect(sync?.calls).toMatchObject(measuredSync);
    expect(sync?.calls["sqs:ReceiveMessage"]).toBe(measuredSync["sqs:SendMessage"]);
    expect(sync?.calls["sqs:DeleteMessage"]).toBe(measuredSync["sqs:SendMessage"]);
  });

  it("adds the polls of an async task, and the renewals of its lease where the Execution zone is ours", () => {
    const taskMs = assumptions.asyncTaskSeconds.value * 1000;
    const times = pollsOf({ ...schedule, taskMs });
    for (const kind of ["agentcore", "external"] as const) {
      const { sync, perPoll } = measured.kinds[kind];
      const renewals = kind === "external" ? 0 : taskMs / (assumptions.renewSeconds.value * 1000);
      const writes = (sync["dynamodb:UpdateItem"] ?? 0) + times * (perPoll["dynamodb:UpdateItem"] ?? 0) + renewals;
      expect(of(kind, "async")?.calls["dynamodb:UpdateItem"]).toBeCloseTo(writes);
    }
  });

  it("adds up, and grows with the number of tasks", () => {
    const twice = reckon({ tasks: 2000, measured }).columns;
    for (const [index, { dollars, totalDollars }] of columns.entries()) {
      expect(Object.values(dollars).reduce((sum, one) => sum + one)).toBeCloseTo(totalDollars);
      expect(twice[index]?.totalDollars).toBeCloseTo(2 * totalDollars);
    }
  });

  it("knows the price of a kind of call that is paid for by the call", () => {
    const { kinds } = measured;
    const dearer = structuredClone(measured);
    for (const kind of [kinds, dearer.kinds]) expect(kind.external.sync["sqs:SendMessage"]).toBeGreaterThan(0);
    dearer.kinds.external.sync["dynamodb:GetItem"] = (kinds.external.sync["dynamodb:GetItem"] ?? 0) + 8;
    const column = reckon({ tasks: 1e6, measured: dearer }).columns.find(({ kind }) => kind === "external");
    const before = reckon({ tasks: 1e6, measured }).columns.find(({ kind }) => kind === "external");
    expect((column?.dollars.DynamoDB ?? 0) - (before?.dollars.DynamoDB ?? 0)).toBeCloseTo(8 * 0.125);
  });
});

describe("sekisho cost", () => {
  it("prints the table with its assumptions, or all of it as JSON", async () => {
    const { code, stdout } = await run(["cost", "--tasks", "5000"]);
    expect(code).toBe(0);
    expect(stdout).toContain("Dollars for 5,000 tasks:");
    for (const { why } of Object.values(assumptions)) expect(stdout).toContain(why);
    const { stdout: json } = await run(["cost", "--json"]);
    expect(JSON.parse(json)).toEqual(JSON.parse(JSON.stringify(reckon({ tasks: 1_000_000, measured }))));
    expect((await run(["cost", "--tasks", "many"])).code).toBe(2);
  });

  it("writes the table between the markers of docs/operations.md and leaves the rest", async () => {
    mkdirSync(join(folder, "docs"));
    const path = join(folder, "docs", "operations.md");
    writeFileSync(path, `Before.\n${withSection({ text: operations, table: "old" })}After.\n`);
    expect((await run(["cost", "--markdown"])).code).toBe(0);
    expect(readFileSync(path, "utf8")).toBe(`Before.\n${operations}After.\n`);
    writeFileSync(path, "Nothing marked.");
    expect(await run(["cost", "--markdown"])).toMatchObject({ code: 2, stderr: expect.stringContaining("markers") });
  });

  it("is up to date in docs/operations.md (else: npx sekisho cost --tasks 1000000 --markdown)", () => {
    const table = costTable(reckon({ tasks: 1_000_000, measured }));
    expect(operations).toBe(withSection({ text: operations, table }));
  });
});
