/** The zones' own metrics on AWS: alarms and dashboards ask for exactly what the functions write. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "@jest/globals";
import { permitSpans } from "@sekisho/cdk/constructs/permissions.ts";
import { createZoneMetrics } from "@sekisho/cdk/constructs/zone-metrics.ts";
import { parseConfig } from "@sekisho/config/load.ts";
import { createEmfMetrics } from "@sekisho/runtime/telemetry/emf-metrics.ts";
import { metricTable } from "@sekisho/runtime/telemetry/metric-table.ts";
import type { Metric } from "@sekisho/runtime/telemetry/metric-table-entry.ts";
import { createPrometheusMetrics } from "@sekisho/runtime/telemetry/prometheus-metrics.ts";
import { App, Stack } from "aws-cdk-lib";
import { Role } from "aws-cdk-lib/aws-iam";
import { alarmStates, watchedBy } from "../lab/rehearsal/aws/alarms.ts";
import { createMetrics } from "../lab/rehearsal/aws/metrics.ts";
import {
  createResolver,
  type Resource as ResolvedResource,
} from "../lab/rehearsal/template/resolve.ts";
import { configWith, type Resource, type Synthesized, synthAll, variants } from "./synth.ts";

const told = {
  stage: { execution: { kind: "lambda" } },
  asker: { issuer: "https://asker.example" },
  destinations: { home: { transport: "https", asker: true } },
  routes: [{ destination: "home" }],
};
const metricVariants = {
  on: configWith(told),
  off: configWith({ ...told, telemetry: { metrics: false } }),
} as const;

let made = new Map<keyof typeof metricVariants, Synthesized>();

beforeAll(async () => {
  made = await synthAll(metricVariants);
});

function resourcesOf(variant: keyof typeof metricVariants, type: string): Resource[] {
  return made.get(variant)?.resources(type) ?? [];
}

/** Returns our own metrics, wherever they stand in an alarm. */
function alarmedMetrics(
  value: unknown,
): { MetricName: string; Dimensions: { Name: string; Value: string }[] }[] {
  if (typeof value !== "object" || value === null) return [];
  const own = "Namespace" in value && value.Namespace === "Sekisho/dev" ? [value as never] : [];
  return [...own, ...Object.values(value).flatMap(alarmedMetrics)];
}

const rows = Object.entries<Metric>(metricTable);
const names = rows.map(([name]) => name).sort();
const dimensionedNames = rows
  .filter(([, { dimensions }]) => dimensions !== undefined)
  .map(([name]) => name);

const isKept = (name: string, labels: string[]) =>
  rows.some(
    ([each, { dimensions = [] }]) => each === name && dimensions.some((set) => same(set, labels)),
  );

const same = (one: readonly string[], other: readonly string[]) =>
  [...one].sort().join() === [...other].sort().join();

describe("the names of the metrics", () => {
  it("uses the same metric names in the table, for Prometheus, and in the documentation", async () => {
    const { exposition, close } = createPrometheusMetrics();
    const { body } = await exposition();
    close();
    const shownNames = [...body.matchAll(/^# TYPE (sekisho_\w+) /gm)]
      .map(([, name]) => name)
      .sort();
    expect(shownNames).toEqual(names);
    const page = readFileSync(join(__dirname, "../../docs/reference/logs-and-metrics.md"), "utf8");
    for (const [name, { kind, labels, help }] of Object.entries(metricTable)) {
      const labelList = labels.map((label) => `\`${label}\``).join(", ") || "–";
      expect(page).toContain(`| \`${name}\` | ${kind} | ${labelList} | ${help} |`);
    }
    expect(
      [...new Set(page.match(/^\| `sekisho_\w+/gm))].map((row) => row.slice(3)).sort(),
    ).toEqual(names);
  });

  it("writes all metrics to CloudWatch except those that SQS counts and those of a single process", () => {
    const lines: string[] = [];
    const write = (line: string) => lines.push(line);
    const { metrics, flush } = createEmfMetrics({
      table: metricTable,
      namespace: "Sekisho/dev",
      zone: "execution",
      write,
    });
    for (const [name, { labels }] of Object.entries(metricTable)) {
      const labelValues = Object.fromEntries(labels.map((label) => [label, "x"])) as {
        outcome: string;
      };
      metrics.add(name as "sekisho_answers_delivered_total", labelValues);
    }
    flush();
    const writtenNames = lines.flatMap(
      (line) => JSON.parse(line)._aws.CloudWatchMetrics[0].Metrics[0].Name,
    );
    expect(writtenNames.sort()).toEqual([...dimensionedNames].sort());
    const plainNames = names.filter((name) => !dimensionedNames.includes(name));
    expect(plainNames).toEqual([
      "sekisho_queue_messages",
      "sekisho_queue_oldest_seconds",
      "sekisho_runs_under_way",
    ]);
  });

  it("shows every metric on a dashboard, by dimensions that are written", () => {
    const text = JSON.stringify(
      resourcesOf("on", "AWS::CloudWatch::Dashboard").map(({ properties }) => properties),
    );
    const plain = text.replaceAll(/\\+"/g, '"');
    const searches = [
      ...plain.matchAll(
        /SEARCH\('\{"Sekisho\/dev",zone,?([a-z,]*)\} MetricName="(\w+)" zone="(\w+)"'/g,
      ),
    ];
    const wrong = searches.filter(
      ([, labels = "", name = ""]) => !isKept(name, labels.split(",").filter(Boolean)),
    );
    expect(wrong).toEqual([]);
    expect([...new Set(searches.map(([, , name]) => name))].sort()).toEqual(
      [...dimensionedNames].sort(),
    );
  });

  it("alarms only on metrics and dimensions that are written", () => {
    const alarms = resourcesOf("on", "AWS::CloudWatch::Alarm");
    const alarmedNames = alarms.flatMap(({ properties }) => alarmedMetrics(properties));
    expect(alarmedNames.length).toBeGreaterThanOrEqual(6);
    for (const { MetricName, Dimensions } of alarmedNames) {
      const labels = Dimensions.map(({ Name }) => Name).filter((label) => label !== "zone");
      expect([MetricName, labels, isKept(MetricName, labels)]).toEqual([MetricName, labels, true]);
    }
    const { metric } = createZoneMetrics({ stageName: "dev", zone: "execution" });
    expect(() => metric("sekisho_calls_total", "Sum")).toThrow(/has no dimensions \[\]/);
  });
});

describe("a stage", () => {
  const listTraceTargets = (variant: keyof typeof metricVariants) =>
    resourcesOf(variant, "AWS::Lambda::Function").flatMap(({ properties }) => {
      const { Variables = {} } = (properties.Environment ?? {}) as {
        Variables?: Record<string, unknown>;
      };
      return "SEKISHO_TABLE" in Variables || "SEKISHO_SIGNING_SECRET" in Variables
        ? [Variables.SEKISHO_METRICS_NAMESPACE]
        : [];
    });
  const alarmsOf = (variant: keyof typeof metricVariants) =>
    resourcesOf(variant, "AWS::CloudWatch::Alarm").map(({ id }) => id.replace(/[0-9A-F]{8}$/, ""));
  const own = [
    ...["TasksFail", "DestinationDown", "AnswersUndelivered", "QueueWaits", "AgentFails"],
    "AskerTokensFail",
  ];

  it("gives a stage its own namespace, which all of its functions write to", () => {
    expect(listTraceTargets("on")).toEqual(Array.from({ length: 5 }, () => "Sekisho/dev"));
    expect(alarmsOf("on")).toEqual(expect.arrayContaining(own));
  });

  it("creates no alarm and no graph for metrics that are turned off", () => {
    expect(listTraceTargets("off")).toEqual(Array.from({ length: 5 }, () => undefined));
    expect(alarmsOf("off").filter((id) => own.includes(id))).toEqual([]);
    const dashboards = JSON.stringify(
      resourcesOf("off", "AWS::CloudWatch::Dashboard").map(({ properties }) => properties),
    );
    expect(dashboards).not.toContain("sekisho_");
  });
});

describe("the functions that send spans", () => {
  it("adds no permission if no spans are sent", () => {
    const stack = new Stack(new App({ analyticsReporting: false }), "Zone");
    const statements: unknown[] = [];
    const role = Object.assign(Role.fromRoleName(stack, "Role", "caller"), {
      addToPrincipalPolicy: (statement: unknown) => ({
        statementAdded: statements.push(statement) > 0,
      }),
    });
    const configOf = (telemetry: object) => parseConfig({ json: { telemetry } });
    permitSpans(role, { config: configOf({}) });
    permitSpans(role, { config: configOf({ traces: { exporter: { type: "otlp" } } }) });
    expect(statements).toEqual([]);
    permitSpans(role, { config: configOf({ traces: { exporter: { type: "xray" } } }) });
    expect(statements).toHaveLength(1);
  });
});

const minuteMs = 60_000;
const minutes = 30;
let alarm: ResolvedResource;

beforeAll(async () => {
  const apps = await synthAll({ only: variants.external });
  const assembly = apps.get("only")?.assembly;
  if (assembly === undefined) throw new Error("nothing was synthesized");
  const [found] = createResolver({ assembly })
    .resources("AWS::CloudWatch::Alarm")
    .filter(({ logicalId }) => logicalId.startsWith("DeadLettersStuck"));
  if (found === undefined) throw new Error("there is no such alarm");
  alarm = found;
});

/** Returns the state at the end. The functions return the value of a minute, or undefined where SQS has none. */
function lastState(values: {
  visible: (minute: number) => number | undefined;
  hidden: (minute: number) => number;
}) {
  const metrics = createMetrics();
  for (const { id } of watchedBy(alarm)) {
    const isHidden = id.name === "ApproximateNumberOfMessagesNotVisible";
    for (let minute = 0; minute < minutes; minute++) {
      // SQS reports hidden messages only if there are some.
      const value = isHidden ? values.hidden(minute) || undefined : values.visible(minute);
      if (value !== undefined) metrics.record({ ...id, value, atMs: minute * minuteMs });
    }
  }
  return alarmStates({ alarm, metrics, window: { fromMs: 0, toMs: minutes * minuteMs - 1 } }).at(
    -1,
  );
}

describe("the alarm DeadLettersStuck", () => {
  it.each([
    ["goes off for a visible message that nobody receives", () => 1, () => 0, "ALARM"],
    ["goes off for a message that is always hidden", () => 0, () => 1, "ALARM"],
    [
      "goes off for a message that is hidden at times",
      (at: number) => at % 2,
      (at: number) => 1 - (at % 2),
      "ALARM",
    ],
    [
      "goes off if the latest value of hidden messages is late",
      () => 0,
      (at: number) => Number(at < 29),
      "ALARM",
    ],
    [
      "goes off if the latest values are all late",
      (at: number) => (at < 29 ? 1 : undefined),
      () => 0,
      "ALARM",
    ],
    ["does not go off for an empty queue", () => 0, () => 0, "OK"],
    [
      "does not go off for a message that is handled",
      (at: number) => Number(at > 20),
      () => 0,
      "OK",
    ],
    ["does not go off for a queue without values", () => undefined, () => 0, "OK"],
  ])("DeadLettersStuck %s", (_title, visible, hiddenCount, state) => {
    expect(lastState({ visible, hidden: hiddenCount })).toBe(state);
  });
});
