import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { defaultIdleSeconds } from "../../../lambdas/shared/config/agentcore-session.ts";
import { defaultSyncBudgetMs } from "../../../lambdas/shared/config/call-time.ts";
import { assumptions } from "../../../lib/cli/aws/cost/assumptions.ts";
import {
  type Estimate,
  estimate,
  planPolls,
  type Scenario,
} from "../../../lib/cli/aws/cost/estimate.ts";
import { priceList } from "../../../lib/cli/aws/cost/prices.ts";
import { costTable, withSection } from "../../../lib/cli/aws/cost/table.ts";
import { type MeasuredKind, readMeasuredCalls } from "../../../lib/cli/aws/cost/task-cost.ts";
import { commandsInFolder } from "../commands-in-folder.ts";
import { twoAccounts, writeConfig } from "./a-stage.ts";
import { failing } from "./command-here.ts";

const { folder, run } = commandsInFolder();
const page = readFileSync(join(__dirname, "../../../docs/explanation/costs.md"), "utf8");
const measured = readMeasuredCalls();

const defaults = {
  kind: "agentcore",
  tasks: 100_000,
  taskSeconds: 30,
  idleSeconds: defaultIdleSeconds,
  syncBudgetMs: defaultSyncBudgetMs,
  platformVersion: "V1",
} as const;
const estimateOf = (scenario: Partial<Scenario> = {}, from = measured) =>
  estimate({ ...defaults, ...scenario, measured: from });

function monthOf({ months }: Estimate, kind: MeasuredKind) {
  const month = months.find((each) => each.kind === kind);
  if (month === undefined) throw new Error(`No month of ${kind}.`);
  return month;
}

const plan = (
  taskMs: number,
  {
    kind = "agentcore" as MeasuredKind,
    syncBudgetMs = defaultSyncBudgetMs as number,
    idleSeconds = defaultIdleSeconds as number,
  } = {},
) => planPolls({ kind, taskMs, syncBudgetMs, idleSeconds });
const countPolls = (...of: Parameters<typeof plan>) => plan(...of).polls;

describe("the polls of a task", () => {
  it("are none where the first call brings the result, and else the last comes after the end", () => {
    for (const syncBudgetMs of [defaultSyncBudgetMs, 20_000]) {
      expect(countPolls(syncBudgetMs, { syncBudgetMs })).toBe(0);
      expect(countPolls(syncBudgetMs + 1, { syncBudgetMs })).toBe(1);
    }
  });

  it("are fewer at an Execution zone that pushes, as it asks for", () => {
    expect(
      ["agentcore", "lambda", "external"].map((kind) =>
        countPolls(30_000, { kind: kind as MeasuredKind }),
      ),
    ).toEqual([3, 3, 16]);
  });

  it("are more for a longer task", () => {
    const anyMs = fc.integer({ min: 1, max: 8 * 3600_000 });
    fc.assert(
      fc.property(anyMs, anyMs, (one, other) => {
        expect(countPolls(Math.max(one, other))).toBeGreaterThanOrEqual(
          countPolls(Math.min(one, other)),
        );
      }),
    );
  });

  it("are about 20 in ten minutes, 35 in an hour and 90 in eight hours", () => {
    const counts = [10, 60, 480].map((minutes) => countPolls(minutes * 60_000, { kind: "lambda" }));
    expect(counts).toEqual([22, 35, 91]);
  });

  it("come at least every half of the idle time where AgentCore would end the session", () => {
    const idle = (idleSeconds: number) => countPolls(8 * 3600_000, { idleSeconds });
    expect(idle(120)).toBeGreaterThan(8 * 60);
    expect(idle(120)).toBeGreaterThan(2 * idle(480));
    expect(idle(0)).toBe(idle(defaultIdleSeconds));
  });
});

describe("the polls that also write the record", () => {
  it("are few while polls are frequent, and all of those that come seldom", () => {
    const plans = [30, 120, 8 * 3600].map((seconds) => plan(seconds * 1000));
    for (const { polls, stored } of plans) expect(stored).toBeLessThan(polls);
    expect(plans[0]?.stored).toBe(0);
    const [, short, long] = plans;
    expect((long?.stored ?? 0) / (long?.polls ?? 1)).toBeGreaterThan(
      (short?.stored ?? 0) / (short?.polls ?? 1),
    );
  });
});

describe("the estimate", () => {
  it("counts the measured calls, and those that Lambda makes for each message", () => {
    const { callsPerTask } = monthOf(estimateOf({ taskSeconds: 1 }), "agentcore");
    const { sync } = measured.kinds.agentcore;
    expect(callsPerTask["bedrock-agentcore:InvokeAgentRuntime"]).toBe(1);
    expect(callsPerTask["dynamodb:PutItem"]).toBe(sync["dynamodb:PutItem"]);
    expect(callsPerTask["sqs:ReceiveMessage"]).toBe(sync["sqs:SendMessage"]);
    expect(callsPerTask["sqs:DeleteMessage"]).toBe(sync["sqs:SendMessage"]);
  });

  it("adds the polls of a longer task, and the renewals of its lease where the Execution zone is ours", () => {
    const taskSeconds = 600;
    const long = estimateOf({ taskSeconds });
    for (const kind of ["agentcore", "external"] as const) {
      const { polls: times, stored } = plan(taskSeconds * 1000, { kind });
      expect(monthOf(long, kind).polls).toBe(times);
      const { sync, perPoll, logBytes } = measured.kinds[kind];
      const renewals = kind === "external" ? 0 : taskSeconds / assumptions.renewSeconds.value;
      const writes =
        (sync["dynamodb:UpdateItem"] ?? 0) +
        times * (perPoll["dynamodb:UpdateItem"] ?? 0) +
        renewals +
        stored;
      expect(monthOf(long, kind).callsPerTask["dynamodb:UpdateItem"]).toBeCloseTo(writes);
      expect(monthOf(long, kind).logBytesPerTask).toBe(logBytes.sync + times * logBytes.perPoll);
    }
  });

  it("adds the push of a task's end, and the wake-up that it makes needless, where the Execution zone is ours", () => {
    for (const [kind, pushes] of [
      ["agentcore", 1],
      ["lambda", 1],
      ["external", 0],
    ] as const) {
      const { sync, perPoll } = measured.kinds[kind];
      const { polls, callsPerTask } = monthOf(estimateOf(), kind);
      for (const name of ["sqs:SendMessage", "dynamodb:GetItem"])
        expect(callsPerTask[name]).toBeCloseTo(
          (sync[name] ?? 0) + polls * (perPoll[name] ?? 0) + pushes,
        );
    }
    const { callsPerTask } = monthOf(estimateOf({ taskSeconds: 1 }), "agentcore");
    expect(callsPerTask["sqs:SendMessage"]).toBe(measured.kinds.agentcore.sync["sqs:SendMessage"]);
  });

  it("counts the time for which the first call waits, as the stage's `syncBudgetMs` says", () => {
    const lambdaOf = (syncBudgetMs: number) =>
      monthOf(estimateOf({ tasks: 1e6, syncBudgetMs }), "external").taskDollars;
    expect(lambdaOf(20_000).Lambda).toBeGreaterThan(4 * lambdaOf(1500).Lambda);
    expect(lambdaOf(20_000).SQS).toBeLessThan(lambdaOf(1500).SQS);
  });

  it("bills custom metrics for the hours with tasks, and not for a stage without any", () => {
    const costOf = (tasks: number) => monthOf(estimateOf({ tasks }), "agentcore").metricDollars;
    const all = 0.3 * measured.kinds.agentcore.customMetrics;
    expect(costOf(1e6)).toBeCloseTo(all);
    expect(costOf(720)).toBeCloseTo(all);
    expect(costOf(72)).toBeCloseTo(all / 10);
    const { stageDollars } = monthOf(estimateOf(), "agentcore");
    expect(Object.values(stageDollars).reduce((total, one) => total + one)).toBeCloseTo(6.18, 2);
  });

  it("adds a dollar for each key in the second year and in the third, and none after that", () => {
    for (const { yearsDollars, stageDollars } of estimateOf().months) {
      const [first = 0, ...later] = yearsDollars;
      const keys = stageDollars["KMS keys"];
      expect(first).toBeCloseTo(Object.values(stageDollars).reduce((total, one) => total + one));
      expect(later.map((year) => Math.round(year - first))).toEqual([keys, 2 * keys]);
    }
  });

  it("adds up: what tasks cost grows with their number, what a stage costs does not", () => {
    const twice = estimateOf({ tasks: 200_000 });
    for (const { kind, taskDollars, metricDollars, stageDollars, totalDollars } of estimateOf()
      .months) {
      const ofTasks = Object.values(taskDollars).reduce((total, one) => total + one);
      const ofStage =
        metricDollars + Object.values(stageDollars).reduce((total, one) => total + one);
      expect(ofTasks + ofStage).toBeCloseTo(totalDollars);
      expect(monthOf(twice, kind).totalDollars).toBeCloseTo(2 * ofTasks + ofStage);
      expect(Math.min(...Object.values(stageDollars))).toBeGreaterThan(0);
    }
  });

  it("knows the price of calls, and of log lines by their bytes", () => {
    const dearer = structuredClone(measured);
    dearer.kinds.external.sync["dynamodb:GetItem"] =
      (measured.kinds.external.sync["dynamodb:GetItem"] ?? 0) + 8;
    dearer.kinds.external.logBytes.sync += 2000;
    const after = monthOf(estimateOf({ tasks: 1e6 }, dearer), "external").taskDollars;
    const before = monthOf(estimateOf({ tasks: 1e6 }), "external").taskDollars;
    expect(after.DynamoDB - before.DynamoDB).toBeCloseTo(8 * 0.125);
    // Two gigabytes at $0.50.
    expect(after["CloudWatch Logs"] - before["CloudWatch Logs"]).toBeCloseTo(1);
  });

  it("knows that a transaction costs twice the write units of what it writes", () => {
    const dearer = structuredClone(measured);
    const { sync } = dearer.kinds.external;
    sync["dynamodb:TransactWriteItems"] = (sync["dynamodb:TransactWriteItems"] ?? 0) + 1;
    const after = monthOf(estimateOf({ tasks: 1e6 }, dearer), "external").taskDollars;
    const before = monthOf(estimateOf({ tasks: 1e6 }), "external").taskDollars;
    expect(after.DynamoDB - before.DynamoDB).toBeCloseTo(
      2 * assumptions.transactionKb.value * 0.625,
    );
  });

  it("counts the time that an AgentCore session idles, as far as it lives that long", () => {
    const idle = (scenario: Partial<Scenario>) =>
      monthOf(estimateOf(scenario), "agentcore").taskDollars["AgentCore, session idle"];
    expect(idle({ idleSeconds: 0 })).toBe(0);
    expect(idle({ idleSeconds: 900 })).toBeCloseTo(3 * idle({ idleSeconds: 300 }));
    expect(idle({ idleSeconds: 900, taskSeconds: 8 * 3600 })).toBe(0);
    const { agentcoreGbHour, agentcoreV2GbHour } = priceList.prices;
    expect(idle({ platformVersion: "V2" }) / idle({})).toBeCloseTo(
      agentcoreV2GbHour.usd / agentcoreGbHour.usd,
    );
  });

  it("has one task of eight hours for each kind that can run it, and none for Lambda", () => {
    const { lengths } = estimateOf();
    const eightHours = lengths.find(({ taskSeconds }) => taskSeconds === 8 * 3600);
    expect(eightHours?.costs.agentcore?.polls).toBe(countPolls(8 * 3600_000));
    expect(Object.keys(eightHours?.costs ?? {})).toEqual(["agentcore", "external"]);
    expect(estimateOf({ kind: "lambda", taskSeconds: 3600 }).headline).toBe(
      "A task of 1 h is too long for Lambda.",
    );
  });

  it("says first what it comes to, and its largest part", () => {
    const { headline, months } = estimateOf({ idleSeconds: 900 });
    const { totalDollars, taskDollars } = monthOf({ months } as Estimate, "agentcore");
    const idle = taskDollars["AgentCore, session idle"];
    expect(headline).toMatch(
      /^About \$\d+ a month for 100,000 tasks of 30 s on AgentCore\. The largest part, \$\d+ /,
    );
    expect(headline).toContain(`$${Math.round(totalDollars)} a month`);
    expect(headline).toContain(
      `$${Math.round(idle)} (${Math.round((idle / totalDollars) * 100)} %)`,
    );
    expect(estimateOf({ idleSeconds: 0 }).headline).not.toContain("idle");
  });
});

describe("sekisho cost", () => {
  it("prints the headline, then the table with its assumptions, or all of it as JSON", async () => {
    const { code, stdout } = await run([
      "cost",
      "--tasks",
      "5000",
      "--seconds",
      "600",
      "--kind",
      "lambda",
    ]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^About \$[\d.]+ a month for 5,000 tasks of 10 min on Lambda\./);
    for (const { what } of Object.values(assumptions)) expect(stdout).toContain(what);
    const { stdout: json } = await run(["cost", "--json"]);
    expect(JSON.parse(json)).toEqual(JSON.parse(JSON.stringify(estimateOf())));
    const { stdout: stopped } = await run(["cost", "--json", "--idle-seconds", "0"]);
    expect(JSON.parse(stopped).scenario.idleSeconds).toBe(0);
    const { verification } = twoAccounts.stages.prod;
    const warm = {
      verification,
      execution: { kind: "agentcore", idleSeconds: 600, platformVersion: "V2" },
    };
    writeConfig({
      folder,
      name: "sekisho.config.json",
      json: {
        ...twoAccounts,
        execution: { syncBudgetMs: 5000 },
        stages: { ...twoAccounts.stages, warm },
      },
    });
    const { stdout: staged } = await run(["cost", "--json", "--stage", "warm"]);
    expect(JSON.parse(staged).scenario).toMatchObject({
      kind: "agentcore",
      idleSeconds: 600,
      syncBudgetMs: 5000,
      platformVersion: "V2",
    });
    for (const wrong of [
      ["--tasks", "many"],
      ["--seconds", "0"],
      ["--kind", "ec2"],
      ["--stage", "nobody"],
      ["--json", "--markdown"],
    ])
      expect((await run(["cost", ...wrong])).code).toBe(2);
  });

  it("writes the table between the markers of docs/explanation/costs.md and leaves the rest", async () => {
    mkdirSync(join(folder, "docs", "explanation"), { recursive: true });
    const path = join(folder, "docs", "explanation", "costs.md");
    writeFileSync(path, `Before.\n${withSection({ text: page, table: "old" })}After.\n`);
    expect((await run(["cost", "--markdown"])).code).toBe(0);
    expect(readFileSync(path, "utf8")).toBe(`Before.\n${page}After.\n`);
    writeFileSync(path, "Nothing marked.");
    expect(await run(["cost", "--markdown"])).toMatchObject(failing(2, "markers"));
  });

  it("is up to date in docs/explanation/costs.md (else: npx --no-install sekisho cost --markdown)", () => {
    expect(page).toBe(withSection({ text: page, table: costTable(estimateOf()) }));
  });
});
