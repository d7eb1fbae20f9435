/** The estimate of costs counts the parts of a stage as the templates have them. */
import { describe, expect, it } from "@jest/globals";
import { b, configWith, type Resource, synthAll } from "../cdk/synth.ts";
import { installAlarmMetrics, stageParts } from "./estimate.ts";

const authorizer = { type: "bearer", token: { env: "FAR_TOKEN" } };
const far = {
  destinations: {
    far: { transport: "https", url: "https://far.example/", authorizer, idempotent: true },
  },
  routes: [{ destination: "far" }],
};
const configs = {
  agentcore: configWith({ stage: { execution: { kind: "agentcore", account: b } } }),
  lambda: configWith({ stage: { execution: { kind: "lambda", account: b } } }),
  external: configWith({ stage: { execution: { kind: "external" } }, ...far }),
  installs: configWith({
    stage: { execution: { kind: "external" } },
    slack: { install: { clientId: "12.34", clientSecret: { env: "SLACK_CLIENT_SECRET" } } },
    ...far,
  }),
};

/** An alarm watches one metric, or those that its expression uses. */
function watchedMetrics({ properties }: Resource): number {
  const { Metrics } = properties as { Metrics?: { MetricStat?: unknown }[] };
  return Metrics === undefined
    ? 1
    : Metrics.filter(({ MetricStat }) => MetricStat !== undefined).length;
}

describe("the parts of a stage", () => {
  it("counts the parts of a stage as the templates do", async () => {
    const made = await synthAll(configs);
    const counts = [...made].map(([kind, { resources: ofType }]) => {
      const alarmMetrics = ofType("AWS::CloudWatch::Alarm").reduce(
        (total, alarm) => total + watchedMetrics(alarm),
        0,
      );
      const queues = ofType("AWS::Lambda::EventSourceMapping").length;
      return [kind, { alarmMetrics, queues, keys: ofType("AWS::KMS::Key").length }];
    });
    const { external } = stageParts;
    const installs = { ...external, alarmMetrics: external.alarmMetrics + installAlarmMetrics };
    expect(Object.fromEntries(counts)).toEqual({ ...stageParts, installs });
  });
});
