/** The Execution server over real sockets: bridge, limits, hang-ups, and processes that are ended. */
import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterEach, describe, expect, it } from "@jest/globals";
import { createAuthenticator } from "../../../lambdas/execution/authenticator/create-authenticator.ts";
import { createPlatformAuthenticator } from "../../../lambdas/execution/http/exchange.ts";
import { type ExecutionServer, startExecutionServer } from "../../../lambdas/execution/http/server.ts";
import type { AuthenticatorConfig } from "../../../lambdas/shared/config/authenticator-schema.ts";
import { type Answer, createGate, createTestHost, eventually, hello } from "../test-host.ts";

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function serve(options: Parameters<typeof createTestHost>[0] = {}) {
  const test = createTestHost(options);
  const server: ExecutionServer = await startExecutionServer({ host: test.host, port: 0 });
  closing.push(() => server.close());
  return { ...test, server };
}

async function call(url: string, method: string, params: unknown, id: string = randomUUID()): Promise<Answer> {
  const body = JSON.stringify({ jsonrpc: "2.0", id, method, params });
  const response = await fetch(url, { method: "POST", body, headers: { "content-type": "application/json" } });
  return (await response.json()) as Answer;
}

/** All that comes back for these bytes on a connection of their own, until the server closes it or `until` is seen. */
async function raw(port: number, bytes: string, until = /$^/): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  let received = "";
  const { promise, resolve: done } = Promise.withResolvers<void>();
  socket.on("data", (chunk) => {
    received += chunk.toString();
    if (until.test(received)) done();
  });
  socket.on("error", () => done()).on("close", () => done());
  socket.write(bytes);
  await promise;
  socket.destroy();
  return received;
}

const head = (length: number) => `POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: ${length}\r\n\r\n`;

describe("the server", () => {
  it("carries a request to the host and its answer back, on one kept connection", async () => {
    const { server } = await serve();
    const text = "関所 🏯";
    for (const path of ["/", "/invocations"]) {
      const { result } = await call(server.url + path, "execute_task", { ...hello, text });
      expect(result?.response_text).toBe("done");
    }
    expect(await (await fetch(`${server.url}/ping`)).json()).toEqual({ status: "Healthy" });
    expect((await fetch(`${server.url}/nothing`)).status).toBe(404);
  });

  it("answers requests that were sent in one go, in their order", async () => {
    const { server } = await serve();
    const request = (id: number) => {
      const body = JSON.stringify({ jsonrpc: "2.0", id, method: "execute_task", params: hello });
      return head(Buffer.byteLength(body)) + body;
    };
    const received = await raw(server.port, request(1) + request(2) + request(3), /"id":3/);
    expect([...received.matchAll(/"id":(\d)/g)].map(([, id]) => id)).toEqual(["1", "2", "3"]);
  });

  it("goes on with a task whose client hung up", async () => {
    const gate = createGate();
    const { server } = await serve({ agent: gate.agent });
    const id = randomUUID();
    const hangUp = new AbortController();
    const body = JSON.stringify({ jsonrpc: "2.0", id, method: "execute_task", params: hello });
    const sent = fetch(server.url, {
      method: "POST",
      body,
      signal: hangUp.signal,
      headers: { "content-type": "application/json" },
    });
    await gate.firstStart;
    hangUp.abort();
    await expect(sent).rejects.toThrow();
    gate.letGo();
    expect((await call(server.url, "execute_task", hello, id)).result?.response_text).toBe("done");
    expect(gate.started[0]?.context.signal.aborted).toBe(false);
    expect(gate.started).toHaveLength(1);
  });

  it("answers a body that does not come in time, and closes", async () => {
    const { server } = await serve({ bodyTimeoutMs: 30 });
    const received = await raw(server.port, `${head(100)}{"jsonrpc"`);
    expect(received).toMatch(/^HTTP\/1\.1 200 [\s\S]*"unavailable"/);
  });

  it("answers a body above the limit while it is still coming, so that the client can read the 413", async () => {
    const { server } = await serve();
    const response = await fetch(server.url, { method: "POST", body: new Uint8Array(20_000_000) });
    expect([response.status, await response.text()]).toEqual([413, expect.stringContaining("-32075")]);
    const bytes = " ".repeat(600_000);
    const chunked = `POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n${bytes.length.toString(16)}\r\n${bytes}`;
    expect(await raw(server.port, chunked)).toMatch(/^HTTP\/1\.1 413 [\s\S]*-32075/);
  });

  it.each([
    ["garbage", "\u0000\u0001 hello\r\n\r\n"],
    ["a request and then garbage", `${head(2)}{}GARBAGE\r\n\r\n`],
    ["two lengths", "POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}"],
    ["a length and chunks", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}"],
    ["huge headers", `GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ${"x".repeat(20_000)}\r\n\r\n`],
  ])("survives %s", async (_name, bytes) => {
    const { server } = await serve();
    expect(await raw(server.port, bytes)).toMatch(/HTTP\/1\.1 4\d\d /);
    expect((await fetch(`${server.url}/healthz`)).status).toBe(200);
  });

  it("does not listen beyond loopback for a host that lets in anyone", async () => {
    const { host } = createTestHost();
    for (const hostname of ["0.0.0.0", "::", "192.0.2.1", "agents.example"]) {
      await expect(startExecutionServer({ host, hostname, port: 0 })).rejects.toThrow(/authenticator.*bearer/);
    }
  });

  const issuer = { issuer: "https://issuer.example", audience: "a" };
  it.each<AuthenticatorConfig>([
    { type: "bearer", tokens: [{ env: "TOKEN" }] },
    {
      type: "jwt",
      issuers: [
        { ...issuer, subjects: ["s"], algorithms: ["RS256"], clockToleranceSeconds: 30, maxLifetimeSeconds: 3600 },
      ],
    },
    { type: "web-identity", ...issuer, roles: ["arn:aws:iam::111122223333:role/R"] },
  ])("listens everywhere for a host that asks for a token: $type", async (config) => {
    const authenticator = createAuthenticator({ config, readSecret: async () => "a-token-of-this-test-alone" });
    const server = await startExecutionServer({ ...createTestHost({ authenticator }), hostname: "0.0.0.0", port: 0 });
    closing.push(() => server.close());
    expect((await fetch(`http://127.0.0.1:${server.port}/`, { method: "POST", body: "{}" })).status).toBe(401);
  });

  it("does not listen beyond loopback for a host that leaves it to a platform, where there is none", async () => {
    const { host } = createTestHost({ authenticator: createPlatformAuthenticator() });
    await expect(startExecutionServer({ host, hostname: "0.0.0.0", port: 0 })).rejects.toThrow(/authenticator.*bearer/);
    const server = await startExecutionServer({ host, port: 0 });
    closing.push(() => server.close());
    const response = await fetch(server.url, { method: "POST", body: "{}", headers: { "x-principal": "me" } });
    expect([response.status, await response.text()]).toEqual([403, expect.stringContaining("permission_denied")]);
  });

  it("listens everywhere behind a platform that has authenticated everyone, and serves them as one", async () => {
    const { host } = createTestHost({ authenticator: createPlatformAuthenticator() });
    const server = await startExecutionServer({ host, hostname: "0.0.0.0", port: 0, platformPrincipal: "p" });
    closing.push(() => server.close());
    const url = `http://127.0.0.1:${server.port}/invocations`;
    const id = randomUUID();
    expect((await call(url, "execute_task", hello, id)).result?.response_text).toBe("done");
    expect((await call(url, "get_task", { request_id: id })).result?.response_text).toBe("done");
  });

  it("says what to do where the port is taken", async () => {
    const { server, host } = await serve();
    const second = startExecutionServer({ host, port: server.port });
    await expect(second).rejects.toThrow(/is already in use.*SEKISHO_EXECUTION_PORT/);
  });
});

describe("a server process", () => {
  function folder() {
    const path = mkdtempSync(join(tmpdir(), "sekisho-host-"));
    closing.push(() => rmSync(path, { recursive: true }));
    return path;
  }

  async function start(path: string): Promise<{ child: ChildProcess; url: string; exit: Promise<unknown[]> }> {
    const script = resolve(import.meta.dirname, "../children/host.ts");
    const child = spawn(process.execPath, [script, join(path, "execution.db"), join(path, "starts")], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    closing.push(() => child.kill("SIGKILL"));
    const exit = once(child, "exit");
    const [line] = await once(child.stdout, "data");
    return { child, url: String(line).trim(), exit };
  }

  const startsOf = (path: string) =>
    existsSync(join(path, "starts")) ? readFileSync(join(path, "starts"), "utf8") : "";

  it("lets its task end on SIGTERM, exits with 0, and the next one knows the result", async () => {
    const path = folder();
    const first = await start(path);
    const id = randomUUID();
    const accepted = await call(first.url, "execute_task", { ...hello, text: "slow 300ms" }, id);
    expect(accepted.result?.status).toBe("accepted");
    first.child.kill("SIGTERM");
    expect(await first.exit).toEqual([0, null]);
    const second = await start(path);
    const { result } = await call(second.url, "get_task", { request_id: id });
    expect(result).toMatchObject({ status: "success", response_text: expect.stringContaining("slow 300ms") });
    expect(startsOf(path)).toBe(`${id}\n`);
  });

  it("that is killed with -9 leaves a task that is told as lost, and that was started once", async () => {
    const path = folder();
    const first = await start(path);
    const id = randomUUID();
    const params = { ...hello, text: "slow 60s" };
    await call(first.url, "execute_task", params, id);
    await eventually(() => startsOf(path) !== "");
    first.child.kill("SIGKILL");
    await first.exit;
    const second = await start(path);
    const { error } = await call(second.url, "get_task", { request_id: id, wait_ms: 20_000 });
    expect(error?.data).toMatchObject({ reason: "execution_failed", lost: true });
    expect((await call(second.url, "execute_task", params, id)).error?.data.lost).toBe(true);
    expect(startsOf(path)).toBe(`${id}\n`);
  });
});
