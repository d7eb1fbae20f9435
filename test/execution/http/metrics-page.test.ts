/** `GET /metrics` of the Execution host, over real sockets: it takes the authenticator of a request. */
import { afterEach, describe, expect, it } from "@jest/globals";
import { createBearerAuthenticator } from "../../../lambdas/execution/authenticator/create-authenticator.ts";
import {
  type Authenticator,
  createNoneAuthenticator,
  createPlatformAuthenticator,
} from "../../../lambdas/execution/http/exchange.ts";
import { type ExecutionServer, startExecutionServer } from "../../../lambdas/execution/http/server.ts";
import { createPrometheusMetrics } from "../../../lambdas/shared/telemetry/prometheus-metrics.ts";
import { noSpans } from "../../../lambdas/shared/telemetry/telemetry.ts";
import { exposed, sumOf } from "../../shared/telemetry/exposed.ts";
import { httpGet } from "../../shared/telemetry/http-get.ts";
import { createTestHost } from "../test-host.ts";

const opened: (() => void | Promise<void>)[] = [];
afterEach(async () => {
  for (const close of opened.splice(0)) await close();
});

async function start(
  authenticator: Authenticator,
  { served = true, platformPrincipal }: { served?: boolean; platformPrincipal?: string } = {},
): Promise<{ url: string; lines: string[]; call: (method: string) => Promise<unknown> }> {
  const { metrics, exposition, close } = createPrometheusMetrics();
  const telemetry = { metrics, spans: noSpans, ...(served && { exposition }) };
  const { host, lines, call } = createTestHost({ authenticator, telemetry });
  const server: ExecutionServer = await startExecutionServer({
    host,
    port: 0,
    ...(platformPrincipal !== undefined && { platformPrincipal }),
  });
  opened.push(server.close, close);
  return { url: `${server.url}/metrics`, lines, call: (method) => call(method, {}) };
}

const bearer = () => createBearerAuthenticator({ readTokens: async () => ["a-good-token"] });

describe("GET /metrics of the Execution host", () => {
  it("is open on loopback without an authenticator, to no page of another site and under no other name", async () => {
    const { url, call } = await start(createNoneAuthenticator());
    await call("no_such_method");
    const { status, body } = await httpGet(url);
    expect(status).toBe(200);
    const refused = { zone: "execution", reason: "method_not_found" };
    expect(sumOf(exposed(body), "sekisho_requests_refused_total", refused)).toBe(1);
    expect((await httpGet(url, { headers: { host: "evil.example" } })).status).toBe(401);
    expect((await httpGet(url, { headers: { origin: "https://evil.example" } })).status).toBe(401);
  });

  it("asks for the token where a request must have one, and says nothing without", async () => {
    const { url, lines } = await start(bearer());
    expect(await httpGet(url)).toMatchObject({ status: 401, body: "", headers: { "www-authenticate": "Bearer" } });
    const wrong = await httpGet(url, { headers: { authorization: "Bearer a-wrong-token" } });
    expect([wrong.status, wrong.body]).toEqual([401, ""]);
    const right = await httpGet(url, { headers: { authorization: "Bearer a-good-token" } });
    expect(right.status).toBe(200);
    expect(right.body).toContain("# TYPE sekisho_agent_seconds histogram");
    expect(lines.join("")).not.toContain('token"');
    expect(lines.filter((line) => line.includes("request_refused"))).toHaveLength(1);
  });

  it("is closed where a platform vouches for its callers and does not for this one", async () => {
    const { url } = await start(createPlatformAuthenticator());
    expect(await httpGet(url)).toMatchObject({ status: 403, body: "" });
    const { url: vouched } = await start(createPlatformAuthenticator(), { platformPrincipal: "platform" });
    expect((await httpGet(vouched)).status).toBe(200);
  });

  it("is closed while nobody can tell who asks", async () => {
    const authenticate = async () => {
      throw new Error("The keys cannot be had.");
    };
    const { url, lines } = await start({ kind: "jwt", authenticate });
    expect(await httpGet(url)).toMatchObject({ status: 503, body: "" });
    expect(lines.join("")).toContain("metrics_failed");
    expect(lines.join("")).not.toContain("keys");
  });

  it("answers HEAD with headers alone, another method with 405, and 404 where there is nothing to show", async () => {
    const { url } = await start(createNoneAuthenticator());
    expect(await httpGet(url, { method: "HEAD" })).toMatchObject({ status: 200, body: "" });
    const posted = await httpGet(url, { method: "POST" });
    expect([posted.status, posted.headers.allow]).toEqual([405, "GET, HEAD"]);
    const { url: none } = await start(createNoneAuthenticator(), { served: false });
    expect(await httpGet(none)).toMatchObject({ status: 404, body: "" });
  });
});
