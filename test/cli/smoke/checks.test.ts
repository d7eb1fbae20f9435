/** The report of a smoke test: a healthy stage, and each fact that is wrong or differs from an assumption. */
import { beforeAll, describe, expect, it } from "@jest/globals";
import { checkAssumptions } from "../../../lib/cli/smoke/assumptions.ts";
import { checkFacts, type SmokeFacts, type ZoneFacts } from "../../../lib/cli/smoke/checks.ts";
import { createIsIdle } from "../../../lib/cli/smoke/collect-facts.ts";
import { formatSmokeReport } from "../../../lib/cli/smoke/report.ts";
import { createSmokeReport } from "../../../lib/cli/smoke/run-smoke.ts";
import { stories } from "../../../lib/cli/smoke/run-story.ts";
import { referenced, type Synthesized, synthAll, variants } from "../../cdk/synth.ts";

const runtime = "arn:aws:bedrock-agentcore:eu-central-1:222222222222:runtime/r";

const metric = (namespace: string, name: string, dimensions: Record<string, string> = {}) => ({
  namespace,
  name,
  dimensions,
});
type Watched = ZoneFacts["metrics"][number];
const watched = (of: Watched["metric"], alarm: string, more: Partial<Watched> = {}): Watched => ({
  ...{ metric: of, alarm, sum: undefined, isIdle: false },
  ...more,
});
const runtimeErrors = metric("AWS/Bedrock-AgentCore", "SystemErrors", { Resource: runtime });

function zone(changes: Partial<ZoneFacts> = {}): ZoneFacts {
  return {
    zone: "Verification",
    alarms: [{ name: "WorkerErrors", state: "OK", watches: [] }],
    metrics: [
      watched(metric("AWS/Lambda", "Errors", { FunctionName: "worker" }), "WorkerErrors", {
        sum: 0,
      }),
      watched(metric("AWS/Lambda", "RecursiveInvocationsDropped"), "WorkerLoopStopped"),
      // SQS writes a value only while a message is being handled.
      watched(
        metric("AWS/SQS", "ApproximateNumberOfMessagesNotVisible", { QueueName: "dead" }),
        "DeadLettersStuck",
      ),
      // The handler of dead letters had nothing to do.
      watched(metric("AWS/Lambda", "Errors", { FunctionName: "idle" }), "IdleErrors", {
        isIdle: true,
      }),
    ],
    errors: [{ group: "worker-logs", lines: new Map() }],
    ...changes,
  };
}

function healthy(changes: Partial<SmokeFacts> = {}): SmokeFacts {
  return {
    stageName: "dev",
    kind: "agentcore",
    region: "eu-central-1",
    stories: stories.map((story) => ({
      story,
      ok: true,
      what: "well",
      requestId: story,
      polls: 21,
    })),
    wakes: 20,
    doctor: [
      { group: "Stage", name: "dead letters", status: "ok", what: "None are kept.", remedy: null },
    ],
    verification: zone(),
    execution: zone({ zone: "Execution", metrics: [watched(runtimeErrors, "A", { sum: 0 })] }),
    own: [{ metric: metric("Sekisho/dev", "sekisho_tasks_total"), atLeast: 5, sum: 5 }],
    lines: [{ requestId: "wakes", count: 7 }],
    lambdaConcurrency: 1000,
    ...changes,
  };
}

const bad = (facts: SmokeFacts) => checkFacts(facts).filter(({ ok }) => !ok);
const differing = (facts: SmokeFacts) =>
  checkAssumptions(facts).filter(({ differs }) => differs === true);
const report = createSmokeReport;

describe("a smoke test", () => {
  it("passes a healthy stage, and says for each assumption what it saw or why it cannot", () => {
    const facts = healthy();
    expect(bad(facts)).toEqual([]);
    expect(differing(facts)).toEqual([]);
    expect(report(facts).ok).toBe(true);
    for (const { observed } of checkAssumptions(facts)) expect(observed).not.toBe("");
    expect(formatSmokeReport(report(facts), "dev")).toContain("The stage works as assumed.");
  });

  it("does not claim that there are no errors where it read no log group", () => {
    const facts = healthy({ execution: zone({ zone: "Execution", errors: [] }) });
    const said = checkFacts(facts).filter(({ name }) => name.startsWith("log lines of errors"));
    expect(said.map(({ what }) => what)).toEqual([
      "none in 1 log groups",
      expect.stringMatching(/^not looked at/),
    ]);
  });

  it("accepts that AgentCore counts calls in one of the two accounts, and reports metrics that neither has", () => {
    const of = (sum: number | undefined) => watched(runtimeErrors, "RuntimeErrors", { sum });
    const both = (verification: number | undefined, execution: number | undefined) =>
      healthy({
        verification: zone({ metrics: [...zone().metrics, of(verification)] }),
        execution: zone({ zone: "Execution", metrics: [...zone().metrics, of(execution)] }),
      });
    for (const facts of [both(0, undefined), both(undefined, 0)]) {
      expect(bad(facts)).toEqual([]);
      expect(differing(facts)).toEqual([]);
    }
    expect(bad(both(undefined, undefined)).map(({ name }) => name)).toEqual([
      "metrics that alarms watch: Verification",
      "metrics that alarms watch: Execution",
    ]);
    expect(differing(both(undefined, undefined))).toHaveLength(1);
  });

  it.each<[string, Partial<SmokeFacts>, RegExp]>([
    [
      "an alarm in ALARM",
      { verification: zone({ alarms: [{ name: "X", state: "ALARM", watches: [] }] }) },
      /X is ALARM/,
    ],
    [
      "an alarm that is gone",
      { verification: zone({ alarms: [{ name: "X", state: "missing", watches: [] }] }) },
      /X is missing/,
    ],
    ["no alarm at all", { verification: zone({ alarms: [] }) }, /no alarms/],
    [
      "an alarm on what has no data",
      {
        verification: zone({
          metrics: [watched(metric("AWS/Lambda", "Errors", { F: "f" }), "X"), ...zone().metrics],
        }),
      },
      /X: AWS\/Lambda Errors \{F=f\}/,
    ],
    [
      "a line of an error",
      { verification: zone({ errors: [{ group: "g", lines: new Map([["call_failed", 2]]) }] }) },
      /call_failed \(2\) in g/,
    ],
    [
      "too few tasks counted",
      { own: [{ metric: metric("S", "tasks"), atLeast: 5, sum: 4 }] },
      /is 4, and should be 5/,
    ],
    [
      "no metric of its own",
      { own: [{ metric: metric("S", "tasks"), atLeast: 5, sum: undefined }] },
      /is 0/,
    ],
    ["a task without a line", { lines: [{ requestId: "r1", count: 0 }] }, /no line names r1/],
    [
      "a dead letter",
      {
        doctor: [
          { group: "S", name: "dead letters", status: "warning", what: "1 are kept.", remedy: "x" },
        ],
      },
      /1 are kept/,
    ],
    [
      "a story that failed",
      { stories: [{ story: "file", ok: false, what: "no file", requestId: "r", polls: 1 }] },
      /no file/,
    ],
  ])("fails for %s", (_title, changes, words) => {
    const facts = healthy(changes);
    expect(bad(facts).map(({ what }) => what)).toEqual([expect.stringMatching(words)]);
    expect(report(facts).ok).toBe(false);
  });

  it("shows that the alarms of AgentCore watch names under which there is no data", () => {
    const silent = watched(
      metric("AWS/Bedrock-AgentCore", "SystemErrors", { Name: "r::DEFAULT" }),
      "A",
    );
    const facts = healthy({ execution: zone({ zone: "Execution", metrics: [silent] }) });
    expect(differing(facts)).toEqual([
      expect.objectContaining({
        observed: expect.stringContaining("Name=r::DEFAULT"),
        todo: expect.stringMatching(/list-metrics/),
      }),
    ]);
  });

  it("shows that Lambda stopped a loop, and that nothing was accepted", () => {
    const few = healthy().stories.map((story) => ({ ...story, polls: 16 }));
    expect(differing(healthy({ stories: few })).map(({ point }) => point)).toEqual([
      "loop detection of Lambda",
    ]);
    const dropped = watched(metric("AWS/Lambda", "RecursiveInvocationsDropped"), "A", { sum: 1 });
    expect(
      differing(healthy({ verification: zone({ metrics: [dropped] }) })).map(({ point }) => point),
    ).toEqual(["loop detection of Lambda"]);
    const none = healthy().stories.map((story) => ({ ...story, polls: 0 }));
    expect(differing(healthy({ stories: none })).length).toBeGreaterThan(2);
  });

  it("shows that AgentCore ended the session of a task that was at work", () => {
    const interrupted = stories.map((story) => {
      const [ok, what] = story === "long" ? [false, "it ended otherwise: failed"] : [true, "well"];
      return { story, ok, what, requestId: story, polls: 21 };
    });
    const [session, ...others] = differing(healthy({ stories: interrupted }));
    expect(others).toEqual([]);
    expect(session).toMatchObject({
      point: "an AgentCore session while its agent works",
      observed: expect.stringMatching(/ended otherwise/),
    });
  });

  it("says what another kind of stage, or other credentials, cannot show", () => {
    const facts = healthy({
      kind: "lambda",
      execution: { skipped: "It is elsewhere." },
      lambdaConcurrency: undefined,
    });
    expect(bad(facts)).toEqual([]);
    const hidden = checkAssumptions(facts).filter(({ differs }) => differs === undefined);
    expect(hidden.length).toBeGreaterThan(5);
    for (const { observed } of hidden) expect(observed).toMatch(/^Not shown by this stage\. .+/);
  });
});

const type = "AWS::SQS::Queue";
let stage: Synthesized | undefined;

beforeAll(async () => {
  stage = (await synthAll({ only: variants["lambda in one account"] })).get("only");
});

describe("a metric of a smoke test", () => {
  it("is idle exactly where no function of the template polls its queue", () => {
    const stacks = [...(stage?.stacks.values() ?? [])];
    const all = stacks.flatMap(({ resources }) => resources);
    const polled = all
      .filter((each) => each.type === "AWS::Lambda::EventSourceMapping")
      .map(({ properties }) => referenced(properties.EventSourceArn));
    const ids = all.filter((each) => each.type === type).map(({ id }) => id);
    const queues = ids.map((logicalId) => ({
      type,
      logicalId,
      physicalId: `https://sqs.eu-central-1.amazonaws.com/111111111111/name-of-${logicalId}`,
    }));
    const isIdle = createIsIdle({ functions: [], queues });
    const name = "ApproximateNumberOfMessagesVisible";
    const idle = ids.filter((id) =>
      isIdle({ namespace: "AWS/SQS", name, dimensions: { QueueName: `name-of-${id}` } }),
    );
    expect(idle).toHaveLength(2);
    expect(idle).toEqual(ids.filter((id) => !polled.includes(id)));
  });

  it("is idle where nothing has invoked its function", () => {
    const isIdle = createIsIdle({ functions: ["rests"], queues: [] });
    const of = (FunctionName: string) =>
      isIdle({ namespace: "AWS/Lambda", name: "Errors", dimensions: { FunctionName } });
    expect([of("rests"), of("works")]).toEqual([true, false]);
  });
});
