/** The figures of docs/explanation/scale.md and docs/explanation/bench.md that come from code, and those of docs/explanation/costs.md beside its generated tables. */
import { describe, expect, it } from "@jest/globals";
import { defaultIdleSeconds } from "@sekisho/config/agentcore-session.ts";
import { defaultSyncBudgetMs } from "@sekisho/config/call-time.ts";
import { stageSchema } from "@sekisho/config/stage-schema.ts";
import { shardCount } from "@sekisho/runtime/engine/aws/table.ts";
import { assumptions } from "../costs/assumptions.ts";
import { estimate } from "../costs/estimate.ts";
import { countPushes, type MeasuredKind, measuredKinds } from "../costs/task-cost.ts";
import { sectionOf, tablesIn, textOf } from "./pages.ts";

const kinds: readonly MeasuredKind[] = ["agentcore", "lambda", "external"];
const page = textOf("docs/explanation/scale.md");
const prose = page.replaceAll(/\s+/g, " ");
const tableIn = (heading: string, number = 0) => tablesIn(sectionOf(page, heading))[number] ?? [];

const estimateOf = (scenario: { taskSeconds: number; idleSeconds?: number }) =>
  estimate({ tasks: 1e6, ...scenario });

type Use = {
  polls: number;
  messages: number;
  slotSeconds: number;
  otherSeconds: number;
  agentCoreCalls: number;
  sessionSeconds: number;
  writes: number;
  reads: number;
};

/** What a task of 30 s needs, by the calls and the assumptions of the estimate. */
function useOf(kind: MeasuredKind): Use {
  const taskSeconds = 30;
  const { months } = estimateOf({ taskSeconds });
  const { callsPerTask: calls = {}, polls = 0 } = months.find((month) => month.kind === kind) ?? {};
  const shortSteps = polls + countPushes({ kind, polls });
  const count = (...names: string[]) => names.reduce((sum, name) => sum + (calls[name] ?? 0), 0);
  const a = assumptions;
  const messages = count("sqs:SendMessage");
  const [agents, urlCalls] = [kind === "lambda" ? 1 : 0, count("lambda:InvokeFunctionUrl")];
  const waitSeconds = Math.min(taskSeconds, defaultSyncBudgetMs / 1000);
  const stepsMs = (messages - agents - shortSteps) * a.stepMs.value + shortSteps * a.pollMs.value;
  const urlSeconds = urlCalls === 0 ? 0 : waitSeconds + (polls * a.urlMs.value) / 1000;
  const itemWrites =
    count("dynamodb:PutItem", "dynamodb:UpdateItem", "dynamodb:DeleteItem") * a.recordKb.value;
  const together = count("dynamodb:TransactWriteItems") * 2 * a.transactionKb.value;
  return {
    polls,
    messages,
    slotSeconds: stepsMs / 1000 + waitSeconds,
    otherSeconds: a.ingressMs.value / 1000 + urlSeconds + agents * taskSeconds,
    agentCoreCalls: count("bedrock-agentcore:InvokeAgentRuntime"),
    sessionSeconds: kind === "agentcore" ? taskSeconds + defaultIdleSeconds : 0,
    writes: itemWrites + together + a.indexWrites.value + a.personIndexWrites.value,
    reads: count("dynamodb:GetItem"),
  };
}

const uses = Object.fromEntries(kinds.map((kind) => [kind, useOf(kind)])) as Record<
  MeasuredKind,
  Use
>;
const batch = 10;

function row(name: string, of: (use: Use, kind: MeasuredKind) => string): string[] {
  return [name, ...kinds.map((kind) => of(uses[kind], kind))];
}

/** As the page writes numbers. A kind that does not meet the limit has a dash. */
function rate(limit: number, need: number): string {
  if (need === 0) return "–";
  const perSecond = limit / need;
  const digits = perSecond < 1 ? 2 : perSecond < 10 ? 1 : 0;
  return Number(perSecond.toFixed(digits)).toLocaleString("en-US");
}

describe("docs/explanation/scale.md", () => {
  it("docs/explanation/scale.md shows what a task needs", () => {
    expect(tableIn("## What one task needs").map((cells) => cells.slice(0, 4))).toEqual([
      row("polls", ({ polls }) => String(polls)),
      row("messages of the queue", ({ messages }) => String(messages)),
      row("seconds of a worker's slot", ({ slotSeconds }) => slotSeconds.toFixed(2)),
      row("seconds of other functions (ingress, Function URL, agent)", ({ otherSeconds }) =>
        otherSeconds.toFixed(3),
      ),
      row("calls of AgentCore", ({ agentCoreCalls }) => String(agentCoreCalls)),
      row("seconds of an AgentCore session", ({ sessionSeconds }) => String(sessionSeconds)),
      row("write units of DynamoDB, both zones", ({ writes }) => String(writes)),
      row("read units of DynamoDB, both zones", ({ reads }) => String(reads)),
    ]);
  });

  it("docs/explanation/scale.md shows the rate of tasks at which each limit is reached", () => {
    const { workerConcurrency, eventsPerSecond } = stageSchema.shape.scale.parse({});
    const workers = (limit: number) => (use: Use) => rate(limit * batch, use.slotSeconds);
    const invocations = (limit: number) => (use: Use) =>
      rate(limit, use.slotSeconds / batch + use.otherSeconds);
    const agents = (limit: number) => (_use: Use, kind: MeasuredKind) =>
      rate(limit, kind === "lambda" ? 30 : 0);
    const verificationWrites = (limit: number) => () => rate(limit, uses.external.writes);
    const sessions = (use: Use) => rate(2500, use.sessionSeconds);
    const newSessions = (_use: Use, kind: MeasuredKind) => rate(25, kind === "agentcore" ? 1 : 0);
    const eventsEach = 2;
    const computed: [string, (use: Use, kind: MeasuredKind) => string][] = [
      ["agents at once", agents(2)],
      ["Lambda concurrency of a new account", invocations(10)],
      ["workers at once", workers(workerConcurrency)],
      ["AgentCore, active sessions", sessions],
      ["AgentCore, new sessions a second", newSessions],
      ["entry, events a second", () => rate(eventsPerSecond, eventsEach)],
      ["Lambda concurrency of other accounts", invocations(1000)],
      ["agents at once, raised", agents(1000)],
      ["AgentCore, calls a second and runtime", ({ agentCoreCalls }) => rate(200, agentCoreCalls)],
      ["DynamoDB, writes of a new table", verificationWrites(4000)],
      ["DynamoDB, writes of a table", verificationWrites(40_000)],
      ["workers at once, raised", workers(1000)],
      ["API Gateway, requests a second", () => rate(10_000, eventsEach)],
      ["SQS, messages in flight", ({ slotSeconds }) => rate(120_000, slotSeconds)],
    ];
    const shown = tableIn("## What limits first").map(([name, , ...cells]) => [
      name,
      ...cells.slice(0, 3),
    ]);
    const [measured, calculated] = [true, false].map((isMeasured) =>
      shown.filter(([name]) => (name === "DynamoDB, the most used key") === isMeasured),
    );
    expect(calculated).toEqual(computed.map(([name, of]) => row(name, of)));
    expect(measured).toHaveLength(1);
    expect(prose).toContain(`spread over ${shardCount}.`);
    const perHundred = (need: number) => Math.floor(100 * need).toLocaleString("en-US");
    const { agentcore, lambda } = uses;
    expect(prose).toContain(
      `sessions: ${perHundred(agentcore.sessionSeconds)} active, 100 new ones and ${perHundred(agentcore.agentCoreCalls)} calls a second`,
    );
    expect(prose).toContain(
      `${perHundred(lambda.slotSeconds / batch + lambda.otherSeconds)} invocations at once`,
    );
    expect(prose).toContain(`DynamoDB takes ${perHundred(uses.external.writes)} writes a second`);
  });

  it("docs/explanation/scale.md shows the estimated cost of a million tasks", () => {
    const lengths = { "5 s": 5, "30 s": 30, "10 min": 600 };
    const computed = Object.entries(lengths).map(([name, taskSeconds]) => {
      const { months } = estimateOf({ taskSeconds });
      return [
        name,
        ...months.map(({ totalDollars }) => Math.round(totalDollars).toLocaleString("en-US")),
      ];
    });
    expect(tableIn("## What a million tasks cost")).toEqual(computed);
  });
});

it("docs/explanation/costs.md shows the cost of idle sessions of a million tasks", () => {
  const section = sectionOf(textOf("docs/explanation/costs.md"), "## AgentCore sessions");
  const rows = tablesIn(section)[1] ?? [];
  const costOf = (idleSeconds: number) =>
    estimateOf({ taskSeconds: 5, idleSeconds }).months.find(({ kind }) => kind === "agentcore")
      ?.taskDollars;
  expect(rows.map(([seconds, cost]) => [seconds, cost])).toEqual(
    [60, 120, 300, 900].map((idle) => [
      String(idle),
      `$${Math.round(costOf(idle)?.["AgentCore, session idle"] ?? 0)}`,
    ]),
  );
  expect(section).toContain(
    `about $${Math.round(costOf(120)?.["AgentCore, agent at work"] ?? 0)} of AgentCore`,
  );
});

it("docs/explanation/bench.md shows the measured calls of AWS", () => {
  const rows =
    tablesIn(sectionOf(textOf("docs/explanation/bench.md"), "## Calls of AWS for a task"))[0] ?? [];
  const sum = (calls: Record<string, number>) =>
    Object.values(calls).reduce((all, count) => all + count, 0);
  const figures = rows
    .slice(-kinds.length)
    .map((cells) => [Number.parseInt(cells[1] ?? "", 10), Number.parseInt(cells[3] ?? "", 10)]);
  expect(figures).toEqual(
    kinds.map((kind) => [sum(measuredKinds[kind].sync), sum(measuredKinds[kind].perPoll)]),
  );
});
