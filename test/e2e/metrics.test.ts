/** Tasks through both zones on one machine, and what `GET /metrics` of each of them says then. */
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { readSamples, type Sample, sumOf } from "../runtime/telemetry/exposed.ts";
import { type E2eWorld, startWorld } from "./world.ts";

type Read = { verification: Sample[]; execution: Sample[] };

let world: E2eWorld;
let read: Read;

async function samplesOf(url: string): Promise<Sample[]> {
  return readSamples(await (await fetch(url)).text());
}

async function readBoth({ metricsUrl, executionUrl }: E2eWorld): Promise<Read> {
  const [verification, execution] = await Promise.all([
    samplesOf(metricsUrl),
    samplesOf(`${executionUrl}/metrics`),
  ]);
  return { verification, execution };
}

beforeAll(async () => {
  world = await startWorld({ transport: "https" });
  for (const text of ["slow 600ms", "fail"]) await world.over(world.ask(text).requestId);
  read = await readBoth(world);
});
afterAll(() => world.close());

describe("after one task that was accepted and answered, and one that failed", () => {
  it.each([
    ["sekisho_tasks_total", {}, 2],
    ["sekisho_tasks_total", { outcome: "answer", reason: "none", destination: "https" }, 1],
    [
      "sekisho_tasks_total",
      { outcome: "failed", reason: "execution_failed", destination: "https" },
      1,
    ],
    ["sekisho_task_seconds_count", { outcome: "answer", destination: "https" }, 1],
    ["sekisho_queue_wait_seconds_count", {}, 2],
    ["sekisho_stage_seconds_count", { stage: "received" }, 2],
    ["sekisho_stage_seconds_count", { stage: "sent" }, 2],
    ["sekisho_stage_seconds_count", { stage: "delivering" }, 2],
    ["sekisho_calls_total", { destination: "https", operation: "cancel_task" }, 0],
    ["sekisho_calls_total", { destination: "https", result: "execution_failed" }, 1],
    ["sekisho_call_seconds_count", { destination: "https", operation: "execute_task" }, 2],
    ["sekisho_retries_total", {}, 0],
    ["sekisho_circuit_open", { destination: "https" }, 0],
    ["sekisho_polls_total", { destination: "https", result: "success" }, 1],
    ["sekisho_answers_delivered_total", { outcome: "answer" }, 1],
    ["sekisho_answers_delivered_total", { outcome: "failed" }, 1],
    ["sekisho_answers_undelivered_total", {}, 0],
    ["sekisho_messages_total", { entry: "events_api", result: "failed" }, 0],
    ["sekisho_requests_refused_total", {}, 0],
    ["sekisho_dead_letters_total", {}, 0],
    ["sekisho_slack_calls_total", { method: "chat.postMessage", result: "unavailable" }, 0],
    ["sekisho_queue_messages", { queue: "tasks-dead" }, 0],
  ] as const)("the Verification zone reports %s %j: %d", (name, labels, value) => {
    expect(sumOf(read.verification, name, labels)).toBe(value);
  });

  it.each([
    ["sekisho_executions_total", {}, 2],
    ["sekisho_executions_total", { state: "completed", reason: "none" }, 1],
    ["sekisho_executions_total", { state: "failed", reason: "execution_failed" }, 1],
    ["sekisho_agent_seconds_count", { agent: "echo" }, 2],
    ["sekisho_runs_under_way", {}, 0],
    ["sekisho_tasks_total", {}, 0],
  ] as const)("the Execution zone reports %s %j: %d", (name, labels, value) => {
    expect(sumOf(read.execution, name, labels)).toBe(value);
  });

  it("measures the time of the agent in the right unit", () => {
    const seconds = sumOf(read.execution, "sekisho_agent_seconds_sum");
    expect(seconds).toBeGreaterThanOrEqual(0.59);
    // In milliseconds it would be more.
    expect(seconds).toBeLessThan(590);
    expect(
      sumOf(read.verification, "sekisho_task_seconds_sum", { outcome: "answer" }),
    ).toBeGreaterThanOrEqual(0.59);
  });

  it("counts each message from Slack and each post at least once", () => {
    const enqueued = { entry: "events_api", result: "enqueued" };
    expect(sumOf(read.verification, "sekisho_messages_total", enqueued)).toBeGreaterThanOrEqual(2);
    expect(
      sumOf(read.verification, "sekisho_slack_calls_total", {
        method: "chat.postMessage",
        result: "ok",
      }),
    ).toBeGreaterThanOrEqual(2);
  });

  it("exposes no text, person, channel or id in any metric", async () => {
    const text = JSON.stringify(read);
    expect(text).not.toMatch(/slow|600ms|\b[UCT]0[0-9A-Z]{6,}|[0-9a-f]{8}-[0-9a-f]{4}-/);
  });
});

it("serves no metrics at the port of Slack's events", async () => {
  expect((await fetch(new URL("/metrics", world.eventsUrl))).status).toBe(404);
});

describe("a request without a valid signature", () => {
  it("counts a request without a valid signature as refused, by reason", async () => {
    await fetch(world.eventsUrl, { method: "POST", body: "{}" });
    const { verification } = await readBoth(world);
    expect(
      sumOf(verification, "sekisho_requests_refused_total", {
        zone: "verification",
        reason: "unsigned",
      }),
    ).toBe(1);
  });

  it("logs one line for several refused requests from one address", async () => {
    for (let sentTasks = 0; sentTasks < 3; sentTasks += 1) {
      await fetch(world.eventsUrl, { method: "POST", body: "{}" });
    }
    const refusal = world.lines.filter(
      (line) => line.includes('"request_refused"') && line.includes('"unsigned"'),
    );
    expect(refusal).toHaveLength(1);
    expect(refusal[0]).toContain('"source_address":"127.0.0.1"');
  });
});
