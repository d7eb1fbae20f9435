/** Sending spans to a collector over a real socket: what it takes, what it refuses, and one that is not there. */

import { setImmediate } from "node:timers/promises";
import { afterEach, describe, expect, it, jest } from "@jest/globals";
import { readSecret } from "@sekisho/config/secrets.ts";
import { openProcessTelemetry } from "@sekisho/config/telemetry/process-telemetry.ts";
import { createSpanTarget } from "@sekisho/config/telemetry/span-target.ts";
import { type TelemetryConfig, telemetrySchema } from "@sekisho/config/telemetry-schema.ts";
import type { SecretReference } from "@sekisho/config/values.ts";
import { createLog, silentLog } from "@sekisho/runtime/log.ts";
import { createOtlpExporter } from "@sekisho/runtime/telemetry/otlp-exporter.ts";
import { createXrayTarget, type OtlpTarget } from "@sekisho/runtime/telemetry/otlp-target.ts";
import { createTrace } from "@sekisho/runtime/telemetry/telemetry.ts";
import { openTracing } from "@sekisho/runtime/telemetry/tracing.ts";
import { startOtlpCollector } from "../../doubles/otlp-collector.ts";
import { closeAfterTest } from "../../doubles/serving.ts";
import { sigv4Problem } from "../../doubles/sigv4-check.ts";
import { connectionReset, type Received } from "../../doubles/web-server.ts";
import { eventually } from "../../execution/test-host.ts";
import { hangMs } from "../../tooling/hang.ts";

type Exporter = TelemetryConfig["traces"]["exporter"];

type TraceOptions = {
  exporter: Exporter;
  xray?: OtlpTarget;
  secrets?: Record<string, string>;
  flushMs?: number;
};

function trace({ exporter, xray, secrets = {}, flushMs = 3000 }: TraceOptions) {
  const lines: Record<string, unknown>[] = [];
  const readSecret = async (reference: SecretReference) =>
    secrets["env" in reference ? reference.env : ""] ?? fail();
  const tracing = closeAfterTest(
    openTracing({
      sampleRatio: 1,
      target: createSpanTarget({ exporter, readSecret, ...(xray !== undefined && { xray }) }),
      service: "verification",
      flushMs,
      log: createLog({ service: "verification", write: (line) => lines.push(JSON.parse(line)) }),
    }),
  );
  const span = (name = "a span") =>
    tracing.spans.within({ name, kind: "client", trace: createTrace() }, async () => "done");
  return { span, flush: tracing.flush, close: tracing.close, lines };
}

function fail(): never {
  throw new Error("no such secret");
}

type Busy = { status: number; retryAfter?: string; times?: number; flushMs?: number };

async function collect(answer?: (call: Received) => Promise<Response>) {
  const collector = closeAfterTest(
    await startOtlpCollector(answer === undefined ? {} : { answer }),
  );
  const exporter: Exporter = { type: "otlp", url: collector.url, headers: {} };
  return { collector, exporter };
}

describe("a collector", () => {
  it("sends spans as JSON with their resource when they are flushed", async () => {
    const { collector, exporter } = await collect();
    const { span, flush, lines } = trace({ exporter });
    await span();
    expect(collector.received).toEqual([]);
    await flush();
    expect(collector.received[0]?.request.headers.get("content-type")).toBe("application/json");
    expect(collector.resources()).toEqual([
      expect.objectContaining({ "service.name": "sekisho-verification" }),
    ]);
    expect(collector.spans()).toMatchObject([{ name: "a span", failed: false }]);
    await flush();
    expect(collector.received).toHaveLength(1);
    expect(lines).toEqual([]);
  });

  it("sends pending spans when the process ends", async () => {
    const { collector, exporter } = await collect();
    const { span, close } = trace({ exporter });
    await span();
    await close();
    expect(collector.spans()).toHaveLength(1);
  });

  it.each(["flush", "close"] as const)(
    "waits in %s for a full batch that is being sent",
    async (end) => {
      const { promise: gate, resolve: release } = Promise.withResolvers<void>();
      const { collector, exporter } = await collect(() => gate.then(() => Response.json({})));
      const { span, ...tracing } = trace({ exporter, flushMs: hangMs });
      for (let count = 0; count < 512; count++) await span();
      await eventually(() => collector.received.length === 1);
      let isOver = false;
      const ending = tracing[end]().then(() => {
        isOver = true;
      });
      await setImmediate();
      expect(isOver).toBe(false);
      release();
      await ending;
    },
  );

  it("sends the configured secrets and reads them again after the collector refused them", async () => {
    const secrets = { KEY: "hunter2" };
    const { collector, exporter } = await collect(async ({ request }) => {
      const { status } = { status: request.headers.get("x-api-key") === "hunter3" ? 200 : 401 };
      return Response.json({}, { status });
    });
    const { span, flush, lines } = trace({
      exporter: { ...exporter, headers: { "x-api-key": { env: "KEY" } } },
      secrets,
    });
    await span();
    await flush();
    secrets.KEY = "hunter3";
    await span();
    await flush();
    const sentKeys = collector.received.map(({ request }) => request.headers.get("x-api-key"));
    expect(sentKeys).toEqual(["hunter2", "hunter3"]);
    expect(lines).toMatchObject([{ message: "spans_not_sent", status: 401, count: 1 }]);
    expect(JSON.stringify(lines)).not.toContain("hunter");
  });

  it.each([
    ["asks for no pause, and then answers", 2, { status: 503, times: 1 }],
    ["asks for no pause, and stays busy", 2, { status: 503, retryAfter: "0" }],
    ["asks for a second", 2, { status: 503, retryAfter: "1", times: 1 }],
    ["asks for a minute", 1, { status: 429, retryAfter: "60" }],
    ["asks for more time than the flush has", 1, { status: 503, retryAfter: "1", flushMs: 400 }],
  ])("a busy collector that %s gets %i requests in total", async (_what, posts, busy) => {
    const { status, retryAfter, times = 9, flushMs = 3000 } = busy as Busy;
    const headers: Record<string, string> = retryAfter ? { "retry-after": retryAfter } : {};
    let count = 0;
    const { collector, exporter } = await collect(async () =>
      Response.json({}, count++ < times ? { status, headers } : {}),
    );
    const { span, flush, lines } = trace({ exporter, flushMs });
    await span();
    await flush();
    expect(collector.received).toHaveLength(posts);
    if (flushMs > 400)
      expect(lines).toMatchObject(times === 1 ? [] : [{ message: "spans_not_sent", status }]);
  });

  it("logs the number of spans that the collector rejected", async () => {
    const { exporter } = await collect(async () =>
      Response.json({ partialSuccess: { rejectedSpans: "1" } }),
    );
    const { span, flush, lines } = trace({ exporter });
    await span();
    await flush();
    expect(lines).toMatchObject([{ level: "warn", message: "spans_not_sent", count: 1 }]);
  });

  it("does not follow a redirect with its secrets", async () => {
    const elsewhere = await collect();
    const { exporter } = await collect(async () => Response.redirect(elsewhere.collector.url, 307));
    const { span, flush, lines } = trace({ exporter });
    await span();
    await flush();
    expect(elsewhere.collector.received).toEqual([]);
    expect(lines).toMatchObject([{ message: "spans_not_sent", status: 307 }]);
  });
});

describe("a failing collector", () => {
  const never = () => new Promise<never>(() => {});
  it.each<[string, (call: Received) => Promise<Response>]>([
    ["answers that it is too large", async () => Response.json({}, { status: 413 })],
    ["fails", async () => Response.json({}, { status: 500 })],
    ["answers with invalid data", async () => new Response("<html>", { status: 502 })],
    ["resets the connection", () => Promise.reject(connectionReset)],
    [
      "answers with more than an answer can be",
      async () => new Response("x".repeat(1e6), { status: 400 }),
    ],
    ["never answers", never],
  ])("keeps the task running and warns at most once if the collector %s", async (_, answer) => {
    const { exporter } = await collect(answer);
    const { span, flush, lines } = trace({ exporter, flushMs: 400 });
    expect(await span()).toBe("done");
    await flush();
    expect(await span()).toBe("done");
    await flush();
    expect(lines.length).toBeLessThanOrEqual(1);
    if (answer !== never)
      expect(lines).toMatchObject([{ level: "warn", message: "spans_not_sent" }]);
  });

  it("waits before it tries an unreachable collector again, and warns once", async () => {
    const { collector, exporter } = await collect();
    await collector.close();
    const { span, flush, lines } = trace({ exporter });
    expect(await span()).toBe("done");
    await flush();
    expect(lines).toMatchObject([
      { message: "spans_not_sent", cause_kind: "ECONNREFUSED", count: 1 },
    ]);
    expect(await span()).toBe("done");
    await flush();
    expect(lines).toHaveLength(1);
  });

  it("keeps the task running and warns if a secret of the collector cannot be read", async () => {
    const { collector, exporter } = await collect();
    const { span, flush, lines } = trace({
      exporter: { ...exporter, headers: { "x-api-key": { env: "NONE" } } },
    });
    expect(await span()).toBe("done");
    await flush();
    expect(collector.received).toEqual([]);
    expect(lines).toMatchObject([{ message: "spans_not_sent", cause_kind: "Error" }]);
  });
});

describe("an exporter", () => {
  afterEach(() => {
    jest.restoreAllMocks();
  });

  /** Sends a span at each of these times to a collector that answers with the status. */
  async function sendAt(timesMs: readonly number[], status: number, rejectedSpans = 0) {
    const lines: Record<string, unknown>[] = [];
    const log = createLog({ service: "execution", write: (line) => lines.push(JSON.parse(line)) });
    let posts = 0;
    const post = async () => {
      posts += 1;
      return { status, rejectedSpans };
    };
    const exporter = createOtlpExporter({ post, timeoutMs: hangMs, log });
    const codes: number[] = [];
    const now = jest.spyOn(Date, "now");
    for (const timeMs of timesMs) {
      now.mockReturnValue(timeMs);
      await new Promise<void>((resolve) => {
        exporter.export([], ({ code }) => {
          codes.push(code);
          resolve();
        });
      });
    }
    return { codes, posts, lines };
  }

  it.each([
    [199, 1, 2],
    [200, 0, 2],
    [299, 0, 2],
    [300, 1, 2],
    [428, 1, 2],
    [429, 1, 1],
    [499, 1, 2],
    [500, 1, 1],
  ])(
    "maps status %i to the result %i (0 is success) and posts %i times",
    async (status, code, posts) => {
      const spanResult = await sendAt([1_000_000, 1_000_001], status);
      expect(spanResult).toMatchObject({ codes: [code, expect.any(Number)], posts });
    },
  );

  it("pauses for ten seconds after a failure and warns once a minute", async () => {
    const first = 1_000_000;
    const times = [first, first + 9_999, first + 10_000, first + 59_999, first + 60_000];
    const { posts, lines } = await sendAt(times, 503);
    expect(posts).toBe(3);
    expect(lines).toHaveLength(2);
  });

  it("counts dropped spans since the last warning", async () => {
    const { lines } = await sendAt([1_000_000, 1_000_001, 1_060_000], 200, 3);
    expect(lines).toMatchObject([{ count: 3 }, { count: 6 }]);
  });
});

describe("X-Ray", () => {
  const credentials = {
    accessKeyId: "AKIDEXAMPLE",
    secretAccessKey: "an-aws-secret-of-this-test",
    sessionToken: "token",
  };

  it("sends signed spans to the X-Ray endpoint of the region", async () => {
    const { collector } = await collect();
    const region = "eu-central-1";
    const xray = createXrayTarget({
      region,
      credentials: async () => credentials,
      endpointOf: () => new URL(collector.origin),
    });
    const { span, flush } = trace({ exporter: { type: "xray" }, xray });
    await span();
    await flush();
    const [requests] = collector.received;
    expect(requests?.target).toBe("/v1/traces");
    expect(
      requests && sigv4Problem({ received: requests, credentials, service: "xray", region }),
    ).toBeUndefined();
    expect(collector.spans()).toHaveLength(1);
  });

  it("refuses to start X-Ray without AWS and says what to do", () => {
    expect(() => trace({ exporter: { type: "xray" } })).toThrow(
      /telemetry\.traces\.exporter.+AWS_REGION.+otlp/,
    );
  });
});

describe("the telemetry of a process", () => {
  it("refuses a header of the collector whose variable is not set", () => {
    const headers = { authorization: { env: "SEKISHO_TEST_NOT_SET" } };
    const exporter = { type: "otlp", url: "http://127.0.0.1:4318/v1/traces", headers };
    const config = telemetrySchema.parse({ metrics: false, traces: { exporter } });
    expect(() =>
      openProcessTelemetry({ config, service: "execution", readSecret, log: silentLog }),
    ).toThrow(
      "telemetry.traces.exporter.headers.authorization: the environment variable SEKISHO_TEST_NOT_SET is not set",
    );
  });
});
