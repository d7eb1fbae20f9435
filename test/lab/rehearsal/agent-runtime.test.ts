import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { afterEach, describe, expect, it } from "@jest/globals";
import { createSessions, type RunningRuntime, runAgentRuntime } from "./agent-runtime.ts";
import { agentCoreBackend } from "./aws/bedrock.ts";
import { createCaller } from "./aws/callers.ts";
import { createMetrics } from "./aws/metrics.ts";

let running: RunningRuntime | undefined;
let folder = "";

afterEach(async () => {
  await running?.close();
  rmSync(folder, { recursive: true, force: true });
});

const server = `
  const server = require("node:http").createServer((request, response) => {
    response.writeHead(request.headers["x-fail"] === undefined && request.headers.accept !== "fail" ? 200 : 500);
    response.end(JSON.stringify({ pid: process.pid, path: request.url, secret: request.headers.authorization ?? "none" }));
  });
  server.listen(Number(process.env.SEKISHO_EXECUTION_PORT), process.env.SEKISHO_HOSTNAME, () =>
    console.log(JSON.stringify({ address: "http://127.0.0.1:" + server.address().port })));`;

function start(code = server) {
  folder = mkdtempSync(join(tmpdir(), "sekisho-runtime-"));
  writeFileSync(join(folder, "server.js"), code);
  const arn = "arn:aws:bedrock-agentcore:eu-central-1:222222222222:runtime/agent-1";
  const place = {
    label: "Runtime",
    roleArn: "",
    account: "222222222222",
    region: "eu-central-1",
    environment: {},
  };
  const failures: string[] = [];
  const lifecycle = { idleSeconds: 900, maxLifetimeSeconds: 28_800 };
  const quotas = { activeSessions: 2, newSessionsPerSecond: 25 };
  const runtime = runAgentRuntime({
    runtime: {
      ...place,
      name: "agent",
      isA2a: false,
      allowedHeaders: [],
      lifecycle,
      arn,
      folder,
      entryPoint: "server.js",
      endpoints: {},
    },
    environment: {},
    quotas,
    onStart: () => {},
    onLine: () => {},
    onFailure: (error) => void failures.push(error),
  });
  running = runtime;
  const metrics = createMetrics();
  const backend = agentCoreBackend({ runtimes: new Map([[arn, runtime]]), metrics });
  const caller = createCaller({ ...place, name: "Caller", kind: "code" });
  const call = async (
    session: string,
    { action = "InvokeAgentRuntime", accept = "application/json" } = {},
  ) => {
    const headers = {
      authorization: "AWS4",
      accept,
      "x-amzn-bedrock-agentcore-runtime-session-id": session,
    };
    const request = new Request("http://aws/runtimes/x/invocations", { method: "POST", headers });
    const input = { runtimeArn: arn, qualifier: "live" };
    const body = new Uint8Array(Buffer.from("{}"));
    const post = {
      service: "bedrock-agentcore",
      action: `bedrock-agentcore:${action}`,
      resources: [],
      input,
    };
    return backend({ call: post, received: { request, target: "", body }, caller });
  };
  return { call, failures, metrics, arn };
}

const session = (letter: string) => letter.repeat(40);
const pidOf = async (response: Response) => ((await response.json()) as { pid: number }).pid;

describe("a runtime", () => {
  it("runs a process for each session, which a stop ends", async () => {
    const { call, failures } = start();
    const first = await pidOf(await call(session("a")));
    expect(await pidOf(await call(session("a")))).toBe(first);
    expect(await pidOf(await call(session("b")))).not.toBe(first);
    expect((await call(session("a"), { action: "StopRuntimeSession" })).status).toBe(200);
    expect((await call(session("a"), { action: "StopRuntimeSession" })).status).toBe(404);
    while ((await call(session("a"))).status === 409) await wait(20);
    expect(await pidOf(await call(session("a")))).not.toBe(first);
    expect(failures).toEqual([]);
  });

  it("refuses calls of a session that starts or ends, and of one beyond the quota", async () => {
    const { call } = start();
    const [first, second] = await Promise.all([call(session("a")), call(session("a"))]);
    expect([first.status, second.status]).toEqual([200, 409]);
    expect((await call(session("a"))).status).toBe(200);
    expect((await call(session("b"))).status).toBe(200);
    expect((await call(session("c"))).status).toBe(402);
    await call(session("a"), { action: "StopRuntimeSession" });
    expect((await call(session("a"))).status).toBe(409);
    await wait(100);
    expect((await call(session("a"))).status).toBe(200);
  });

  it("counts calls under the endpoint that was called", async () => {
    const { call, metrics, arn } = start();
    await call(session("a"));
    await call(session("a"), { accept: "fail" });
    const dimensions = { Operation: "InvokeAgentRuntime", Name: "agent::live", Resource: arn };
    const sums = (name: string) =>
      metrics
        .samples({
          account: "222222222222",
          region: "eu-central-1",
          namespace: "AWS/Bedrock-AgentCore",
          name,
          dimensions,
        })
        .reduce((sum, { value }) => sum + value, 0);
    expect(["Invocations", "SessionCount", "UserErrors", "SystemErrors"].map(sums)).toEqual([
      2, 1, 1, 0,
    ]);
  });

  it("hides the signature from the agent and the agent's errors from the caller", async () => {
    const { call } = start();
    expect(await (await call(session("a"))).json()).toMatchObject({
      path: "/invocations",
      secret: "none",
    });
    const failed = await call(session("a"), { accept: "fail" });
    expect(failed.status).toBe(424);
    expect(await failed.text()).not.toContain("pid");
  });

  it("refuses a session id that AWS would refuse", async () => {
    const { call } = start();
    expect((await call("short")).status).toBe(400);
  });

  it("reports a runtime that does not start", async () => {
    const { call, failures } = start("process.exit(2);");
    expect((await call(session("a"))).status).toBe(424);
    expect(failures).toContain("its process ended with 2");
  });
});

function open({ activeSessions = 2, newSessionsPerSecond = 100 } = {}) {
  let nowMs = 0;
  const quotas = { activeSessions, newSessionsPerSecond };
  const lifecycle = { idleSeconds: 900, maxLifetimeSeconds: 28_800 };
  const sessions = createSessions({ quotas, lifecycle, now: () => nowMs });
  const pass = (seconds: number) => {
    nowMs += seconds * 1000;
  };
  /** Lets time pass, and pings. Resolves to the sessions that have ended and the problems that were met. */
  const pingAfter = async (seconds: number, answer: unknown = { status: "Healthy" }) => {
    pass(seconds);
    const { expired: expiredSessions, problems } = await sessions.pingAll(async () => answer);
    return [...expiredSessions, ...problems];
  };
  return { sessions, pass, pingAfter };
}

describe("sessions of AgentCore", () => {
  it("refuses sessions beyond the quota until one has ended", () => {
    const { sessions } = open();
    expect(["a", "b", "c"].map(sessions.start)).toEqual([
      undefined,
      undefined,
      "ServiceQuotaExceededException",
    ]);
    sessions.end("a");
    expect(sessions.start("c")).toBeUndefined();
  });

  it("throttles sessions when too many start in a second", () => {
    const { sessions, pass } = open({ newSessionsPerSecond: 1 });
    expect(["a", "b"].map(sessions.start)).toEqual([undefined, "ThrottlingException"]);
    pass(1);
    expect(sessions.start("b")).toBeUndefined();
  });

  it("ends a session after the idle time-out, counted from the end of its last call", async () => {
    const { sessions, pingAfter } = open();
    sessions.start("a");
    const done = sessions.use("a");
    expect(await pingAfter(2000)).toEqual([]);
    done();
    expect(await pingAfter(899)).toEqual([]);
    expect(await pingAfter(1)).toEqual(["a"]);
  });

  it("ends a session although a call comes after its idle time-out", async () => {
    const { sessions, pass } = open();
    sessions.start("a");
    pass(900);
    const pinging = sessions.pingAll(async () => ({ status: "Healthy" }));
    sessions.use("a");
    expect((await pinging).expired).toEqual(["a"]);
  });

  it("keeps a session that reports HealthyBusy with its last change, up to the maximum lifetime", async () => {
    const { sessions, pingAfter } = open();
    sessions.start("a");
    const busy = { status: "HealthyBusy", time_of_last_update: 0 };
    for (let hours = 1; hours < 8; hours++) expect(await pingAfter(3600, busy)).toEqual([]);
    expect(await pingAfter(3600, busy)).toEqual(["a"]);
  });

  it.each([
    ["without a start time", {}],
    ["with a date instead of a number", { time_of_last_update: "1970-01-01T00:00:00.000Z" }],
    ["with a time in milliseconds", { time_of_last_update: 10_000_000 }],
    ["with a time in the future", { time_of_last_update: 901 }],
  ])("ends a session that reports HealthyBusy %s", async (_title, field) => {
    const { sessions, pingAfter } = open();
    sessions.start("a");
    expect(await pingAfter(899, { status: "HealthyBusy" })).toEqual([]);
    const [end, ...problems] = await pingAfter(1, { status: "HealthyBusy", ...field });
    expect([end, problems.length]).toEqual(["a", Object.keys(field).length]);
  });

  it("counts the idle time from the change to Healthy if that is later than the last call", async () => {
    const { sessions, pingAfter } = open();
    sessions.start("a");
    const idle = { status: "Healthy", time_of_last_update: 500 };
    expect(await pingAfter(1399, idle)).toEqual([]);
    expect(await pingAfter(1, idle)).toEqual(["a"]);
  });

  it("keeps a session whose reported time moves with each ping", async () => {
    const { sessions, pingAfter } = open();
    sessions.start("a");
    for (let nowSeconds = 3000; nowSeconds < 28_800; nowSeconds += 3000)
      expect(await pingAfter(3000, { status: "Healthy", time_of_last_update: nowSeconds })).toEqual(
        [],
      );
  });
});
