/** Both sinks of metrics: what they write, and that nothing that comes in makes them grow. */
import { describe, expect, it } from "@jest/globals";
import { createEmfMetrics } from "@sekisho/runtime/telemetry/emf-metrics.ts";
import { metricTable } from "@sekisho/runtime/telemetry/metric-table.ts";
import { createPrometheusMetrics } from "@sekisho/runtime/telemetry/prometheus-metrics.ts";
import fc from "fast-check";
import { forAll } from "../../doubles/for-all.ts";
import { closeAfterTest } from "../../doubles/serving.ts";
import { type EmfDocument, emfProblems } from "./emf-rules.ts";
import { readSamples, sumOf } from "./exposed.ts";

function emf() {
  const lines: string[] = [];
  const write = (line: string) => lines.push(line);
  const sink = createEmfMetrics({
    table: metricTable,
    namespace: "Sekisho/dev",
    zone: "verification",
    write,
    now: () => 1_790_000_000_000,
  });
  const documents = () => lines.map((line) => JSON.parse(line) as EmfDocument);
  return { ...sink, lines, documents };
}

const prometheus = () => closeAfterTest(createPrometheusMetrics());
const answered = { outcome: "answer", reason: "none", destination: "far" };

describe("a log line for CloudWatch", () => {
  it("writes one log line per flush with summed counts and the dimensions of the metric", () => {
    const { metrics, flush, documents } = emf();
    metrics.add("sekisho_tasks_total", answered);
    metrics.add("sekisho_tasks_total", answered, 2);
    expect(documents()).toEqual([]);
    flush();
    flush();
    expect(documents()).toEqual([
      {
        _aws: {
          Timestamp: 1_790_000_000_000,
          CloudWatchMetrics: [
            {
              Namespace: "Sekisho/dev",
              Dimensions: [
                ["zone"],
                ["zone", "outcome"],
                ["zone", "outcome", "reason"],
                ["zone", "destination", "outcome"],
              ],
              Metrics: [{ Name: "sekisho_tasks_total", Unit: "Count" }],
            },
          ],
        },
        zone: "verification",
        ...answered,
        sekisho_tasks_total: 3,
      },
    ]);
  });

  it("splits more than a hundred measured values into several lines without losing any", () => {
    const { metrics, flush, documents } = emf();
    for (let value = 0; value < 250; value += 1)
      metrics.observe("sekisho_agent_seconds", { agent: "echo" }, value);
    flush();
    const values = documents().map(
      ({ sekisho_agent_seconds }) => sekisho_agent_seconds as number[],
    );
    expect(values.map(({ length }) => length)).toEqual([100, 100, 50]);
    expect(values.flat()).toEqual(Array.from({ length: 250 }, (_, value) => value));
  });

  it("writes the latest value of a gauge and skips metrics that are not for CloudWatch", () => {
    const { metrics, flush, documents } = emf();
    metrics.set("sekisho_circuit_open", { destination: "far" }, 1);
    metrics.set("sekisho_circuit_open", { destination: "far" }, 0);
    metrics.set("sekisho_queue_messages", { queue: "tasks" }, 7);
    flush();
    expect(documents().map(({ sekisho_circuit_open }) => sekisho_circuit_open)).toEqual([0]);
  });

  it("follows the format specification for each metric and any value", () => {
    const table = Object.entries(metricTable);
    const call = fc.record({
      row: fc.nat(table.length - 1),
      value: fc.double(),
      label: fc.string(),
    });
    forAll(fc.array(call, { maxLength: 300 })).hold((calls) => {
      const { metrics, flush, lines, documents } = emf();
      for (const { row, value, label } of calls) {
        const [name, { kind, labels }] = table[row] ?? fail();
        const values = Object.fromEntries(labels.map((each) => [each, label]));
        if (kind === "histogram")
          metrics.observe(name as "sekisho_agent_seconds", values as { agent: string }, value);
        else if (kind === "gauge")
          metrics.set(name as "sekisho_circuit_open", values as { destination: string }, value);
        else metrics.add(name as "sekisho_tasks_total", values as typeof answered, value);
      }
      flush();
      expect(documents().flatMap(emfProblems)).toEqual([]);
      expect(
        lines.every((line) => line.endsWith("}\n") && line.indexOf("\n") === line.length - 1),
      ).toBe(true);
    });
  });
});

describe("the metrics for Prometheus", () => {
  it("exposes help and type of every metric, also of unused ones", async () => {
    const { body, contentType } = await prometheus().exposition();
    expect(contentType).toMatch(/^text\/plain; version=0\.0\.4/);
    for (const [name, { kind, help }] of Object.entries(metricTable)) {
      expect(body).toContain(`# HELP ${name} ${help}\n# TYPE ${name} ${kind}\n`);
    }
  });

  it("counts, measures and sets values under the given labels", async () => {
    const { metrics, exposition } = prometheus();
    metrics.add("sekisho_tasks_total", answered, 2);
    metrics.observe("sekisho_agent_seconds", { agent: "echo" }, 3);
    metrics.observe("sekisho_agent_seconds", { agent: "echo" }, Number.NaN);
    metrics.set("sekisho_circuit_open", { destination: "far" }, 1);
    const samples = readSamples((await exposition()).body);
    expect(sumOf(samples, "sekisho_tasks_total", answered)).toBe(2);
    expect(sumOf(samples, "sekisho_agent_seconds_sum", { agent: "echo" })).toBe(3);
    expect(sumOf(samples, "sekisho_agent_seconds_bucket", { agent: "echo", le: "2.5" })).toBe(0);
    expect(sumOf(samples, "sekisho_agent_seconds_bucket", { agent: "echo", le: "5" })).toBe(1);
    expect(sumOf(samples, "sekisho_circuit_open")).toBe(1);
    expect(sumOf(samples, "process_resident_memory_bytes")).toBeGreaterThan(1e6);
  });

  it("ignores values that are not numbers or are negative", async () => {
    const { metrics, exposition } = prometheus();
    for (const by of [Number.NaN, -1, Number.POSITIVE_INFINITY])
      metrics.add("sekisho_tasks_total", answered, by);
    expect(sumOf(readSamples((await exposition()).body), "sekisho_tasks_total")).toBe(0);
  });

  it("keeps the registries of two zones in one process apart", async () => {
    const [one, two] = [prometheus(), prometheus()];
    one.metrics.add("sekisho_polls_total", { destination: "far", result: "success" });
    expect(sumOf(readSamples((await two.exposition()).body), "sekisho_polls_total")).toBe(0);
  });
});

describe("untrusted values", () => {
  const hostile = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.uuid(),
    fc.constant('x"} 1\nsekisho_tasks_total 9'),
  );
  /** Most of them plain, so that it is their number that would tell. */
  const many = fc.uniqueArray(fc.oneof({ weight: 5, arbitrary: fc.uuid() }, hostile), {
    minLength: 300,
    maxLength: 400,
  });

  it("shows a value only if it is a plain name, and makes at most 201 series of a metric", async () => {
    await fc.assert(
      fc.asyncProperty(many, async (values) => {
        const { metrics, exposition, close } = createPrometheusMetrics();
        const { metrics: emfMetrics, flush, documents } = emf();
        for (const result of values) {
          metrics.add("sekisho_polls_total", { destination: "far", result });
          emfMetrics.add("sekisho_polls_total", { destination: "far", result });
        }
        const samples = readSamples((await exposition()).body).filter(
          ({ name }) => name === "sekisho_polls_total",
        );
        close();
        flush();
        expect(samples.length).toBeLessThanOrEqual(201);
        expect(documents().length).toBeLessThanOrEqual(201);
        expect(sumOf(samples, "sekisho_polls_total")).toBe(values.length);
        expect(samples.every(({ labels }) => /^[\w.:-]{1,64}$/.test(labels.result ?? ""))).toBe(
          true,
        );
      }),
      { numRuns: 20, endOnFailure: true },
    );
  });
});

function fail(): never {
  throw new Error("There is no such row.");
}
