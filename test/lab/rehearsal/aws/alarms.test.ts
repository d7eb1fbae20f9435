import { describe, expect, it } from "@jest/globals";
import { type AlarmResource, alarmStates, evaluateMath, unrecordedMetrics } from "./alarms.ts";
import { createMetrics } from "./metrics.ts";

const place = { account: "111111111111", region: "eu-central-1" };
const minuteMs = 60_000;
const dimensions = { FunctionName: "worker" };

function alarmOf(properties: Record<string, unknown>): AlarmResource {
  const stack = {
    ...place,
    name: "Sample",
    template: { Parameters: {}, Resources: {}, Outputs: {} },
  };
  const common = {
    Threshold: 0,
    ComparisonOperator: "GreaterThanThreshold",
    EvaluationPeriods: 1,
    TreatMissingData: "notBreaching",
  };
  return { stack, label: "Sample/Alarm", properties: { ...common, ...properties } };
}

const metric = (name: string) => ({
  Namespace: "AWS/Lambda",
  MetricName: name,
  Dimensions: [{ Name: "FunctionName", Value: "worker" }],
});

/** One value per minute; undefined where there is none. */
function recorded(values: Record<string, (number | undefined)[]>) {
  const metrics = createMetrics();
  for (const [name, each] of Object.entries(values))
    for (const [minute, value] of each.entries())
      if (value !== undefined)
        metrics.record({
          ...place,
          namespace: "AWS/Lambda",
          name,
          dimensions,
          value,
          atMs: minute * minuteMs,
        });
  return metrics;
}

const statesOf = (alarm: AlarmResource, values: Record<string, (number | undefined)[]>) => {
  const minutes = Math.max(...Object.values(values).map(({ length }) => length));
  return alarmStates({
    alarm,
    metrics: recorded(values),
    window: { fromMs: 0, toMs: minutes * minuteMs - 1 },
  });
};

describe("an alarm over the metrics of a rehearsal", () => {
  const errors = { ...metric("Errors"), Statistic: "Sum", Period: 60 };

  it.each([
    {
      title: "goes off in a breaching period, and returns to OK afterwards",
      more: {},
      values: [0, 2, 0],
      states: ["OK", "ALARM", "OK"],
    },
    {
      title: "goes off after as many periods as it evaluates",
      more: { EvaluationPeriods: 2 },
      values: [1, 1, 0],
      states: ["OK", "ALARM", "OK"],
    },
    {
      title: "goes off for some of the periods that it evaluates",
      more: { EvaluationPeriods: 3, DatapointsToAlarm: 2 },
      values: [1, 0, 1],
      states: ["OK", "OK", "ALARM"],
    },
    {
      title: "treats missing data as not breaching",
      more: {},
      values: [1, undefined],
      states: ["ALARM", "OK"],
    },
  ])("an alarm $title", ({ more, values, states }) => {
    expect(statesOf(alarmOf({ ...errors, ...more }), { Errors: values })).toEqual(states);
  });

  it.each([{ ComparisonOperator: "LessThanThreshold" }, { TreatMissingData: "breaching" }])(
    "refuses to guess an alarm with %j",
    (more) => {
      expect(() => statesOf(alarmOf({ ...errors, ...more }), { Errors: [1] })).toThrow(
        "not known to the rehearsal",
      );
    },
  );

  const stat = (Id: string, name: string) => ({
    Id,
    ReturnData: false,
    MetricStat: { Metric: metric(name), Period: 60, Stat: "Sum" },
  });

  it("evaluates an expression over metrics that it does not return", () => {
    const Metrics = [
      { Id: "share", Expression: "IF(failed >= 5 AND failed / total > 0.5, 1, 0)" },
      stat("failed", "Errors"),
      stat("total", "Invocations"),
    ];
    const values = { Errors: [4, 5, 6], Invocations: [4, 10, 10] };
    expect(statesOf(alarmOf({ Metrics }), values)).toEqual(["OK", "OK", "ALARM"]);
  });

  it("fills the latest period and a metric that never had a value", () => {
    const Metrics = [
      { Id: "any", Expression: "FILL(failed, 0) + FILL(never, 1)" },
      stat("failed", "Errors"),
      stat("never", "Throttles"),
    ];
    const values = { Errors: [1, undefined, undefined], Throttles: [] };
    expect(statesOf(alarmOf({ Metrics, Threshold: 1 }), values)).toEqual(["ALARM", "OK", "OK"]);
    expect(statesOf(alarmOf({ Metrics }), values)).toEqual(["ALARM", "ALARM", "ALARM"]);
  });

  it("reports an alarm on a dimension that is never recorded", () => {
    const metrics = recorded({ Errors: [0] });
    expect(unrecordedMetrics({ alarm: alarmOf(errors), metrics })).toEqual([]);
    const elsewhere = { ...errors, Dimensions: [{ Name: "FunctionName", Value: "other" }] };
    expect(unrecordedMetrics({ alarm: alarmOf(elsewhere), metrics })).toHaveLength(1);
  });
});

describe("metric math", () => {
  const a = new Map([[0, 1]]);
  const b = new Map([
    [0, 2],
    [60, 3],
  ]);

  it.each([
    { expression: "a + b / 2", result: [[0, 2]] },
    { expression: "a + b > 2 AND b >= 2", result: [[0, 1]] },
    {
      expression: "FILL(a, 0) + b",
      result: [
        [0, 3],
        [60, 3],
      ],
    },
  ])("evaluates $expression", ({ expression, result }) => {
    expect([...(evaluateMath(expression, { a, b }) as Map<number, number>)]).toEqual(result);
  });

  it.each(["ANOMALY_DETECTION_BAND(a)", "a +", "c", "a ^ 2", "a - 1", "a > 1 OR a"])(
    "refuses to guess the metric math %s",
    (expression) => {
      expect(() => evaluateMath(expression, { a })).toThrow("does not know the metric math");
    },
  );
});
