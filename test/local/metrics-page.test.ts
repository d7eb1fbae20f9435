/** `GET /metrics` of the Verification zone: who may read it. */
import { afterEach, describe, expect, it } from "@jest/globals";
import { readSecret } from "@sekisho/config/secrets.ts";
import { openProcessTelemetry } from "@sekisho/config/telemetry/process-telemetry.ts";
import { telemetrySchema } from "@sekisho/config/telemetry-schema.ts";
import { startMetricsServer } from "@sekisho/local/metrics-page.ts";
import { silentLog } from "@sekisho/runtime/log.ts";
import { readSamples, sumOf } from "../runtime/telemetry/exposed.ts";
import { httpGet } from "../runtime/telemetry/http-get.ts";

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

async function start({ metrics = true } = {}) {
  const config = telemetrySchema.parse({ metrics });
  const telemetry = openProcessTelemetry({
    config,
    service: "verification",
    readSecret,
    log: silentLog,
  });
  const queueDepths = () => [{ queue: "tasks", messages: 3, oldestMs: 4500 }];
  const server = await startMetricsServer({ telemetry, queueDepths, port: 0, log: silentLog });
  closers.push(server.close, telemetry.close);
  return { url: server.url, port: new URL(server.url).port };
}

describe("a local request for metrics", () => {
  it.each(["127.0.0.1", "localhost", "[::1]"])(
    "serves the metrics for the host %s, including the lengths of the queues",
    async (name) => {
      const { url, port } = await start();
      const { status, headers, body } = await httpGet(url, {
        headers: { host: `${name}:${port}` },
      });
      expect({ status, type: headers["content-type"], store: headers["cache-control"] }).toEqual({
        status: 200,
        type: "text/plain; version=0.0.4; charset=utf-8",
        store: "no-store",
      });
      expect(sumOf(readSamples(body), "sekisho_queue_messages", { queue: "tasks" })).toBe(3);
      expect(sumOf(readSamples(body), "sekisho_queue_oldest_seconds", { queue: "tasks" })).toBe(
        4.5,
      );
    },
  );

  it("answers HEAD without a body, another method with 405, and 404 when metrics are off", async () => {
    const { url } = await start();
    expect(await httpGet(url, { method: "HEAD" })).toMatchObject({ status: 200, body: "" });
    const posted = await httpGet(url, { method: "POST" });
    expect([posted.status, posted.headers.allow]).toEqual([405, "GET, HEAD"]);
    const { url: off } = await start({ metrics: false });
    expect(await httpGet(off)).toMatchObject({ status: 404, body: "" });
    expect((await httpGet(new URL("/", url).href)).status).toBe(404);
  });
});

describe("a request for metrics through a tunnel or from another site", () => {
  it.each([
    ["a request for another host", { host: "sekisho.example" }],
    ["a host name that only begins like a loopback name", { host: "127.0.0.1.evil.example" }],
    ["a host with another port", { host: "127.0.0.1:1" }],
    ["a request with an X-Forwarded-For header", { "x-forwarded-for": "203.0.113.9" }],
    ["a request with a Forwarded header", { forwarded: "for=203.0.113.9" }],
    ["a page's origin", { origin: "https://evil.example" }],
    ["a request from a page of another site", { "sec-fetch-site": "cross-site" }],
  ])("refuses %s", async (_, headers: Record<string, string>) => {
    const { url } = await start();
    expect(await httpGet(url, { headers })).toMatchObject({ status: 403, body: "" });
  });
});
