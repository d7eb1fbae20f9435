/** The zones' own metrics on AWS: alarms and dashboards ask for exactly what the functions write. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "@jest/globals";
import { createEmfMetrics } from "../../lambdas/shared/telemetry/emf-metrics.ts";
import { metricTable } from "../../lambdas/shared/telemetry/metric-table.ts";
import type { Metric } from "../../lambdas/shared/telemetry/metric-table-entry.ts";
import { createPrometheusMetrics } from "../../lambdas/shared/telemetry/prometheus-metrics.ts";
import { createZoneMetrics } from "../../lib/cdk/constructs/zone-metrics.ts";
import { configWith, type Resource, type Synthesized, synthAll } from "./synth.ts";

const variants = {
  on: configWith({ stage: { execution: { kind: "lambda" } } }),
  off: configWith({ stage: { execution: { kind: "lambda" } }, telemetry: { metrics: false } }),
} as const;
let made = new Map<keyof typeof variants, Synthesized>();

beforeAll(async () => {
  made = await synthAll(variants);
}, 200_000);

function resourcesOf(variant: keyof typeof variants, type: string): Resource[] {
  return made.get(variant)?.resources(type) ?? [];
}

/** Returns our own metrics, wherever they stand in an alarm. */
function alarmedMetrics(value: unknown): { MetricName: string; Dimensions: { Name: string; Value: string }[] }[] {
  if (typeof value !== "object" || value === null) return [];
  const own = "Namespace" in value && value.Namespace === "Sekisho/dev" ? [value as never] : [];
  return [...own, ...Object.values(value).flatMap(alarmedMetrics)];
}

const rows = Object.entries<Metric>(metricTable);
const names = rows.map(([name]) => name).sort();
const kept = rows.filter(([, { dimensions }]) => dimensions !== undefined).map(([name]) => name);
const isKept = (name: string, labels: string[]) =>
  rows.some(([each, { dimensions = [] }]) => each === name && dimensions.some((set) => same(set, labels)));
const same = (one: readonly string[], other: readonly string[]) => [...one].sort().join() === [...other].sort().join();

describe("the names of the metrics", () => {
  it("are the same in the table, for Prometheus, and in the documentation", async () => {
    const { exposition, close } = createPrometheusMetrics();
    const { body } = await exposition();
    close();
    const shown = [...body.matchAll(/^# TYPE (sekisho_\w+) /gm)].map(([, name]) => name).sort();
    expect(shown).toEqual(names);
    const page = readFileSync(join(__dirname, "../../docs/operations.md"), "utf8");
    for (const [name, { kind, labels, help }] of Object.entries(metricTable)) {
      const listed = labels.map((label) => `\`${label}\``).join(", ") || "–";
      expect(page).toContain(`| \`${name}\` | ${kind} | ${listed} | ${help} |`);
    }
    expect([...new Set(page.match(/^\| `sekisho_\w+/gm))].map((row) => row.slice(3)).sort()).toEqual(names);
  });

  it("are those of the log lines for CloudWatch, but for what SQS counts itself and what one process alone has", () => {
    const lines: string[] = [];
    const write = (line: string) => lines.push(line);
    const { metrics, flush } = createEmfMetrics({
      table: metricTable,
      namespace: "Sekisho/dev",
      zone: "execution",
      write,
    });
    for (const [name, { labels }] of Object.entries(metricTable)) {
      const given = Object.fromEntries(labels.map((label) => [label, "x"])) as { outcome: string };
      metrics.add(name as "sekisho_answers_delivered_total", given);
    }
    flush();
    const written = lines.flatMap((line) => JSON.parse(line)._aws.CloudWatchMetrics[0].Metrics[0].Name);
    expect(written.sort()).toEqual([...kept].sort());
    const left = names.filter((name) => !kept.includes(name));
    expect(left).toEqual(["sekisho_queue_messages", "sekisho_queue_oldest_seconds", "sekisho_runs_under_way"]);
  });

  it("are on the dashboards, each by dimensions that are written", () => {
    const text = JSON.stringify(resourcesOf("on", "AWS::CloudWatch::Dashboard").map(({ properties }) => properties));
    const plain = text.replaceAll(/\\+"/g, '"');
    const asked = [...plain.matchAll(/SEARCH\('\{"Sekisho\/dev",zone,?([a-z,]*)\} MetricName="(\w+)" zone="(\w+)"'/g)];
    const wrong = asked.filter(([, labels = "", name = ""]) => !isKept(name, labels.split(",").filter(Boolean)));
    expect(wrong).toEqual([]);
    expect([...new Set(asked.map(([, , name]) => name))].sort()).toEqual([...kept].sort());
  });

  it("are asked for by the alarms only as they are written", () => {
    const alarms = resourcesOf("on", "AWS::CloudWatch::Alarm");
    const asked = alarms.flatMap(({ properties }) => alarmedMetrics(properties));
    expect(asked.length).toBeGreaterThanOrEqual(6);
    for (const { MetricName, Dimensions } of asked) {
      const labels = Dimensions.map(({ Name }) => Name).filter((label) => label !== "zone");
      expect([MetricName, labels, isKept(MetricName, labels)]).toEqual([MetricName, labels, true]);
    }
    const { metric } = createZoneMetrics({ stageName: "dev", zone: "execution" });
    expect(() => metric("sekisho_calls_total", "Sum")).toThrow(/has no dimensions \[\]/);
  });
});

describe("a stage", () => {
  const told = (variant: keyof typeof variants) =>
    resourcesOf(variant, "AWS::Lambda::Function").flatMap(({ properties }) => {
      const { Variables = {} } = (properties.Environment ?? {}) as { Variables?: Record<string, unknown> };
      return "SEKISHO_TABLE" in Variables || "SEKISHO_SIGNING_SECRET" in Variables
        ? [Variables.SEKISHO_METRICS_NAMESPACE]
        : [];
    });
  const alarmsOf = (variant: keyof typeof variants) =>
    resourcesOf(variant, "AWS::CloudWatch::Alarm").map(({ id }) => id.replace(/[0-9A-F]{8}$/, ""));
  const own = ["TasksFail", "DestinationDown", "AnswersUndelivered", "QueueWaits", "AgentFails"];

  it("has its own namespace, which all of its functions write to", () => {
    expect(told("on")).toEqual(Array.from({ length: 5 }, () => "Sekisho/dev"));
    expect(alarmsOf("on")).toEqual(expect.arrayContaining(own));
  });

  it("without metrics has functions that write none, and no alarm that would wait for them", () => {
    expect(told("off")).toEqual(Array.from({ length: 5 }, () => undefined));
    expect(alarmsOf("off").filter((id) => own.includes(id))).toEqual([]);
    const dashboards = JSON.stringify(
      resourcesOf("off", "AWS::CloudWatch::Dashboard").map(({ properties }) => properties),
    );
    expect(dashboards).not.toContain("sekisho_");
  });
});
