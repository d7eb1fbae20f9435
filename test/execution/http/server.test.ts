import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { afterEach, describe, expect, it, jest } from "@jest/globals";
import type { AuthenticatorConfig } from "@sekisho/config/authenticator-schema.ts";
import {
  type Authenticator,
  createPlatformAuthenticator,
} from "@sekisho/execution/authenticator/authenticator.ts";
import {
  createAuthenticator,
  createBearerAuthenticator,
} from "@sekisho/execution/authenticator/create-authenticator.ts";
import type { Exchange, ExchangeResponse } from "@sekisho/execution/exchange.ts";
import { createWebHandler } from "@sekisho/execution/http/routes.ts";
import {
  createRequestListener,
  type ExecutionServer,
  startExecutionServer,
} from "@sekisho/execution/http/server.ts";
import { silentLog } from "@sekisho/runtime/log.ts";
import { collectLog } from "../../doubles/collect-log.ts";
import { withGrowingLimit } from "../../doubles/growing-limit.ts";
import { afterTest } from "../../tooling/cleanup.ts";
import { serveAuthenticator } from "../authenticator/ask.ts";
import { type Answer, createGate, createTestHost, eventually, hello } from "../test-host.ts";

async function serve(options: Parameters<typeof createTestHost>[0] = {}) {
  const test = createTestHost(options);
  const server: ExecutionServer = await startExecutionServer({ host: test.host, port: 0 });
  afterTest(server.close);
  return { ...test, server };
}

async function call(
  url: string,
  method: string,
  params: unknown,
  id: string = randomUUID(),
): Promise<Answer> {
  const body = JSON.stringify({ jsonrpc: "2.0", id, method, params });
  const response = await fetch(url, {
    method: "POST",
    body,
    headers: { "content-type": "application/json" },
  });
  return (await response.json()) as Answer;
}

/** All that comes back for these bytes on a connection of their own, until the server closes it or `until` is seen. */
async function raw(port: number, bytes: string, until = /$^/): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  let receivedText = "";
  const { promise, resolve: finish } = Promise.withResolvers<void>();
  socket.on("data", (chunk) => {
    receivedText += chunk.toString();
    if (until.test(receivedText)) finish();
  });
  socket.on("error", () => finish()).on("close", () => finish());
  socket.write(bytes);
  await promise;
  socket.destroy();
  return receivedText;
}

const head = (length: number) =>
  `POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: ${length}\r\n\r\n`;

describe("the listener in another server", () => {
  async function mount(prepare: (request: IncomingMessage) => Promise<unknown>) {
    const { host, lines } = createTestHost();
    const listener = createRequestListener({
      host,
      closeSignal: new AbortController().signal,
      log: silentLog,
    });
    const server = createServer(
      (request, response) => void prepare(request).then(() => listener(request, response)),
    );
    await once(server.listen(0, "127.0.0.1"), "listening");
    afterTest(() => server.close());
    return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, lines };
  }

  it("answers a request inside another server", async () => {
    const { url } = await mount(async () => {});
    expect(await call(url, "execute_task", hello)).toMatchObject({
      result: { response_text: "done" },
    });
  });

  it("fails at once when a body parser has already read the body", async () => {
    const { url, lines } = await mount((request) => request.toArray());
    expect(await call(url, "execute_task", hello)).toMatchObject({
      error: { data: { reason: "internal" } },
    });
    expect(lines.join()).toContain("ERR_BODY_ALREADY_READ");
  });
});

describe("the server", () => {
  it("passes requests to the host and returns its answers", async () => {
    const { server } = await serve();
    const text = "関所 🏯";
    for (const path of ["/", "/invocations"]) {
      const { result } = await call(server.url + path, "execute_task", { ...hello, text });
      expect(result?.response_text).toBe("done");
    }
    expect(await (await fetch(`${server.url}/ping`)).json()).toEqual({ status: "Healthy" });
    expect((await fetch(`${server.url}/nothing`)).status).toBe(404);
  });

  it("continues a task whose client disconnected", async () => {
    const gate = createGate();
    const { server } = await serve({ agent: gate.agent });
    const id = randomUUID();
    const hangUp = new AbortController();
    const body = JSON.stringify({ jsonrpc: "2.0", id, method: "execute_task", params: hello });
    const upload = fetch(server.url, {
      method: "POST",
      body,
      signal: hangUp.signal,
      headers: { "content-type": "application/json" },
    });
    await gate.firstStart;
    hangUp.abort();
    await expect(upload).rejects.toThrow();
    gate.letGo();
    expect((await call(server.url, "execute_task", hello, id)).result?.response_text).toBe("done");
    expect(gate.started[0]?.context.signal.aborted).toBe(false);
    expect(gate.started).toHaveLength(1);
  });

  it("answers a body that does not arrive in time and closes the connection", async () => {
    const { server } = await serve({ bodyTimeoutMs: 30 });
    const receivedText = await raw(server.port, `${head(100)}{"jsonrpc"`);
    expect(receivedText).toMatch(/^HTTP\/1\.1 200 [\s\S]*"unavailable"/);
  });

  it("answers 413 while the body is still arriving, so that the client can read the answer", async () => {
    const { server } = await serve();
    const response = await fetch(server.url, { method: "POST", body: new Uint8Array(20_000_000) });
    expect([response.status, await response.text()]).toEqual([
      413,
      expect.stringContaining("-32075"),
    ]);
    const bytes = " ".repeat(600_000);
    const chunked = `POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n${bytes.length.toString(16)}\r\n${bytes}`;
    expect(await raw(server.port, chunked)).toMatch(/^HTTP\/1\.1 413 [\s\S]*-32075/);
  });

  it.each([
    ["invalid HTTP", "\u0000\u0001 hello\r\n\r\n"],
    ["huge headers", `GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ${"x".repeat(20_000)}\r\n\r\n`],
  ])("survives a client that sends %s", async (_name, bytes) => {
    const { server } = await serve();
    expect(await raw(server.port, bytes)).toMatch(/HTTP\/1\.1 4\d\d /);
    expect((await fetch(`${server.url}/healthz`)).status).toBe(200);
  });

  it("refuses to listen beyond loopback for a host that accepts anyone", async () => {
    const { host } = createTestHost();
    for (const hostname of ["0.0.0.0", "::", "192.0.2.1", "agents.example"]) {
      await expect(startExecutionServer({ host, hostname, port: 0 })).rejects.toThrow(
        /authenticator.*bearer/,
      );
    }
  });

  const issuer = { issuer: "https://issuer.example", audience: "a" };
  it.each<AuthenticatorConfig>([
    { type: "bearer", tokens: [{ env: "TOKEN" }] },
    {
      type: "jwt",
      issuers: [
        {
          ...issuer,
          subjects: ["s"],
          algorithms: ["RS256"],
          clockToleranceSeconds: 30,
          maxLifetimeSeconds: 3600,
        },
      ],
    },
    { type: "web-identity", ...issuer, roles: ["arn:aws:iam::111122223333:role/R"] },
  ])(
    "listens on every interface if the host requires a token of the type $type",
    async (config) => {
      const authenticator = createAuthenticator({
        config,
        readSecret: async () => "a-token-of-this-test-alone",
      });
      const server = await startExecutionServer({
        ...createTestHost({ authenticator }),
        hostname: "0.0.0.0",
        port: 0,
      });
      afterTest(server.close);
      expect(
        (await fetch(`http://127.0.0.1:${server.port}/`, { method: "POST", body: "{}" })).status,
      ).toBe(401);
    },
  );

  it("refuses to listen beyond loopback when a platform authenticator has no platform", async () => {
    const { host } = createTestHost({ authenticator: createPlatformAuthenticator() });
    await expect(startExecutionServer({ host, hostname: "0.0.0.0", port: 0 })).rejects.toThrow(
      /authenticator.*bearer/,
    );
    const server = await startExecutionServer({ host, port: 0 });
    afterTest(server.close);
    const response = await fetch(server.url, {
      method: "POST",
      body: "{}",
      headers: { "x-principal": "me" },
    });
    expect([response.status, await response.text()]).toEqual([
      403,
      expect.stringContaining("permission_denied"),
    ]);
  });

  it("listens on every interface behind a platform and serves all callers as one", async () => {
    const { host } = createTestHost({ authenticator: createPlatformAuthenticator() });
    const server = await startExecutionServer({
      host,
      hostname: "0.0.0.0",
      port: 0,
      platformPrincipal: "p",
    });
    afterTest(server.close);
    const url = `http://127.0.0.1:${server.port}/invocations`;
    const id = randomUUID();
    expect((await call(url, "execute_task", hello, id)).result?.response_text).toBe("done");
    expect((await call(url, "get_task", { request_id: id })).result?.response_text).toBe("done");
  });

  it("explains what to do when the port is in use", async () => {
    const { server, host } = await serve();
    const second = startExecutionServer({ host, port: server.port });
    await expect(second).rejects.toThrow(/is already in use.*SEKISHO_EXECUTION_PORT/);
  });
});

/** Admits anybody as the principal that a header names. */
const byHeader: Authenticator = {
  kind: "bearer",
  authenticate: async ({ header }) => header("x-principal"),
};

/** Sends all of a request but the last byte of its body. `answer` resolves to what came back until the connection closed. */
function holdBody({ port, principal, bytes }: { port: number; principal: string; bytes: number }) {
  const { promise: answer, resolve: finish } = Promise.withResolvers<string>();
  const socket = connect(port, "127.0.0.1");
  let receivedText = "";
  socket.on("data", (chunk) => {
    receivedText += chunk.toString();
  });
  socket.on("error", () => {}).on("close", () => finish(receivedText));
  const headers = `Host: 127.0.0.1\r\nX-Principal: ${principal}\r\nConnection: close\r\nContent-Length: ${bytes}`;
  socket.write(`POST / HTTP/1.1\r\n${headers}\r\n\r\n${" ".repeat(bytes - 1)}`);
  return { answer, finish: () => void socket.write(" ") };
}

async function callAs(url: string, principal: string): Promise<Answer> {
  const body = JSON.stringify({
    jsonrpc: "2.0",
    id: randomUUID(),
    method: "execute_task",
    params: hello,
  });
  const headers = { "content-type": "application/json", "x-principal": principal };
  return (await (await fetch(url, { method: "POST", body, headers })).json()) as Answer;
}

describe("unfinished bodies", () => {
  it("limits the bytes of unfinished bodies by refusing a caller's oldest ones, and serves other callers", async () => {
    const { server } = await serve({ authenticator: byHeader, maxHeldBytes: 100_000 });
    const { port, url } = server;
    const innocent = holdBody({ port, principal: "innocent", bytes: 10_000 });
    const refusals: string[] = [];
    const { promise: elevenRefused, resolve } = Promise.withResolvers<void>();
    const hold = () => {
      const heldBody = holdBody({ port, principal: "greedy", bytes: 10_000 });
      void heldBody.answer.then((answer) => {
        if (!answer.includes("rate_limited")) return;
        refusals.push(answer);
        if (refusals.length === 11) resolve();
      });
      return heldBody;
    };
    const greedy = Array.from({ length: 20 }, hold);
    await elevenRefused;
    expect(refusals[0]).toMatch(/"retry_after_ms":\d+/);
    for (let count = 0; count < 10; count += 1) {
      expect((await callAs(url, "other")).result?.response_text).toBe("done");
    }
    for (const { finish } of [innocent, ...greedy]) finish();
    expect(await innocent.answer).toContain("parse_error");
    const answers = await Promise.all(greedy.map(({ answer }) => answer));
    expect(
      answers.filter((answer) => answer.includes("parse_error")).length,
    ).toBeGreaterThanOrEqual(8);
    expect(answers.every((answer) => /parse_error|rate_limited/.test(answer))).toBe(true);
  });

  describe("the host behind a web-standard server", () => {
    function openWith(options: Parameters<typeof createTestHost>[0]) {
      const { host } = createTestHost({
        authenticator: byHeader,
        maxHeldBytes: 10_000,
        ...options,
      });
      return (principal: string) => {
        const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
        const headers = { "x-principal": principal };
        const request = new Request("http://127.0.0.1/", {
          method: "POST",
          headers,
          body: readable,
          duplex: "half",
        });
        const writer = writable.getWriter();
        return { answer: host.handle(request).then((response) => response.text()), writer };
      };
    }

    it("applies the limit of unfinished bodies behind a web-standard server", async () => {
      const open = openWith({});
      const [first, second] = [open("a"), open("b")];
      await first.writer.write(Buffer.alloc(8000, " "));
      await second.writer.write(Buffer.alloc(4000, " "));
      expect(await first.answer).toContain("rate_limited");
      await second.writer.close();
      expect(await second.answer).toContain("parse_error");
    });

    it("frees the bytes of a body that does not arrive in time", async () => {
      const sendAfterLate = async (bodyTimeoutMs: number) => {
        const open = openWith({ bodyTimeoutMs });
        const late = open("a");
        await late.writer.write(Buffer.alloc(4000, " "));
        expect(await late.answer).toContain("unavailable");
        const larger = open("b");
        await larger.writer.write(Buffer.alloc(9000, " "));
        await larger.writer.close();
        return larger.answer;
      };
      const isFair = (answer: string) => !answer.includes("unavailable");
      expect(await withGrowingLimit({ firstMs: 500, attempt: sendAfterLate, isFair })).toContain(
        "parse_error",
      );
    });
  });
});

describe("connections", () => {
  it("closes old connections without an admitted request, and keeps those that are being answered", async () => {
    const gate = createGate();
    const { host } = createTestHost({ agent: gate.agent, authenticator: byHeader });
    const server = await startExecutionServer({
      host,
      port: 0,
      maxConnections: 4,
      maxWaitingConnections: 3,
    });
    afterTest(server.close);
    const { port, url } = server;
    const answer = callAs(url, "a");
    await gate.firstStart;
    const idle = Array.from({ length: 10 }, () => raw(port, "POST / HTTP/1.1\r\n"));
    expect(await Promise.all(idle.slice(0, 6))).toEqual(new Array(6).fill(""));
    expect(await (await fetch(`${url}/ping`)).json()).toEqual({ status: "Healthy" });
    gate.letGo();
    expect((await answer).result?.response_text).toBe("done");
  });
});

type Answering = (exchange: Exchange) => ExchangeResponse;

async function serveAnswer({ answer, stallMs = 10_000 }: { answer: Answering; stallMs?: number }) {
  const { lines, log } = collectLog({ service: "execution" });
  const host = {
    exchange: async (exchange: Exchange) => answer(exchange),
    authenticatorKind: "none" as const,
  };
  const server = await startExecutionServer({ host, port: 0, stallMs, log });
  afterTest(server.close);
  return { ...server, lines };
}

/** Makes pieces for ever, one after each turn of the event loop, and remembers what became of it. */
function endless({ size = 10, heedsSignal = true } = {}) {
  const activity = { made: 0, isReturned: false, isAborted: () => false };
  async function* pieces(signal: AbortSignal): AsyncGenerator<string> {
    try {
      for (;;) {
        await new Promise((resolve) => setImmediate(resolve));
        if (heedsSignal && signal.aborted) return;
        activity.made += 1;
        yield "x".repeat(size);
      }
    } finally {
      activity.isReturned = true;
    }
  }
  const answer: Answering = ({ openSignal }) => {
    const signal = openSignal();
    activity.isAborted = () => signal.aborted;
    return { status: 200, headers: { "content-type": "text/plain" }, body: pieces(signal) };
  };
  return { answer, seen: activity };
}

async function* threePieces(): AsyncGenerator<string> {
  yield "関";
  yield "所";
  yield "!";
}

describe("a streamed response", () => {
  it("sends a streamed answer completely and serves the next request on the connection", async () => {
    const { url } = await serveAnswer({
      answer: () => ({ status: 200, headers: { "x-kind": "stream" }, body: threePieces() }),
    });
    for (let count = 0; count < 2; count += 1) {
      const response = await fetch(url);
      expect([response.headers.get("x-kind"), await response.text()]).toEqual(["stream", "関所!"]);
    }
  });

  function takeNothing(port: number) {
    const socket = connect(port, "127.0.0.1");
    socket.on("error", () => {});
    socket.pause();
    socket.write("GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
    return socket;
  }

  it("produces a stream no faster than the client reads", async () => {
    const { answer, seen } = endless({ size: 100_000 });
    const { port } = await serveAnswer({ answer, stallMs: 60_000 });
    const socket = takeNothing(port);
    let previousCount = -1;
    await eventually(async () => {
      const isStill = seen.made > 0 && seen.made === previousCount;
      previousCount = seen.made;
      await new Promise((resolve) => setTimeout(resolve, 20));
      return isStill;
    });
    expect(seen.isReturned).toBe(false);
    socket.destroy();
    await eventually(() => seen.isReturned);
    expect(seen.made - previousCount).toBeLessThanOrEqual(1);
  });

  it("ends a stream when the client reads nothing for too long", async () => {
    const { answer, seen } = endless({ size: 100_000 });
    const { port } = await serveAnswer({ answer, stallMs: 150 });
    const socket = takeNothing(port);
    await eventually(() => seen.isReturned);
    socket.destroy();
  });

  it("ends a stream when the client disconnects", async () => {
    const { answer, seen } = endless();
    const { url } = await serveAnswer({ answer });
    const abort = new AbortController();
    await fetch(url, { signal: abort.signal });
    expect([seen.isReturned, seen.isAborted()]).toEqual([false, false]);
    abort.abort();
    await eventually(() => seen.isReturned && seen.isAborted());
  });

  it("ends a stream for a disconnected client although its producer ignores the signal", async () => {
    const { answer, seen } = endless({ heedsSignal: false });
    const { url } = await serveAnswer({ answer });
    const abort = new AbortController();
    await fetch(url, { signal: abort.signal });
    abort.abort();
    await eventually(() => seen.isReturned);
  });

  it("ends a stream when the server closes", async () => {
    const { answer, seen } = endless();
    const { url, close } = await serveAnswer({ answer });
    const response = await fetch(url);
    const [text] = await Promise.all([response.text(), close()]);
    expect([text.length > 0, seen.isReturned]).toEqual([true, true]);
  });

  it("breaks the connection when a stream fails and logs only the kind of the error", async () => {
    async function* breaking(): AsyncGenerator<string> {
      yield "one";
      throw new Error("password=hunter2");
    }
    const { url, lines } = await serveAnswer({
      answer: () => ({ status: 200, headers: {}, body: breaking() }),
    });
    await expect(fetch(url).then((response) => response.text())).rejects.toThrow();
    expect(lines.join("")).toMatch(/"cause_kind":"Error"/);
    expect(lines.join("")).not.toContain("hunter2");
  });
});

describe("an unchanged response", () => {
  it("sends a 304 without body and length, on a socket and as a Response", async () => {
    const answer: Answering = () => ({ status: 304, headers: { etag: '"a"' }, body: "" });
    const { url } = await serveAnswer({ answer });
    const overWeb = await createWebHandler(async (exchange) => answer(exchange))(new Request(url));
    for (const response of [await fetch(url), overWeb]) {
      const { status, headers } = response;
      expect([status, headers.get("etag"), headers.get("content-length")]).toEqual([
        304,
        '"a"',
        null,
      ]);
    }
  });
});

describe("a query parameter", () => {
  it("reads a decoded query parameter by its name in any letter case", async () => {
    const answer: Answering = ({ path, query }) => ({
      status: 200,
      headers: {},
      body: JSON.stringify([path, query("a2a-version"), query("other")]),
    });
    const { url } = await serveAnswer({ answer });
    const overWeb = createWebHandler(async (exchange) => answer(exchange));
    for (const [path, expectedJson] of [
      ["/a2a?x=1&A2A-Version=1%2E0", ["/a2a", "1.0", null]],
      ["/a2a?", ["/a2a", null, null]],
      ["/a2a", ["/a2a", null, null]],
    ] as const) {
      expect(await (await fetch(url + path)).json()).toEqual(expectedJson);
      expect(await (await overWeb(new Request(url + path))).json()).toEqual(expectedJson);
    }
  });
});

describe("the web-standard adapter", () => {
  it("produces one piece per read and tells the producer when the reader has gone", async () => {
    const { answer, seen } = endless();
    const { body } = await createWebHandler(async (exchange) => answer(exchange))(
      new Request("http://127.0.0.1/"),
    );
    const reader = (body ?? new ReadableStream<Uint8Array>()).getReader();
    for (let count = 1; count <= 3; count += 1) {
      expect(Buffer.from((await reader.read()).value ?? []).toString()).toBe("xxxxxxxxxx");
      expect(seen.made).toBe(count);
    }
    await reader.cancel();
    expect([seen.isReturned, seen.isAborted()]).toEqual([true, true]);
  });
});

afterEach(() => void jest.restoreAllMocks());

it("clears the timer that would end the connection", async () => {
  const { hear } = await serveAuthenticator(
    createBearerAuthenticator({ readTokens: async () => [] }),
  );
  const timers = new Set<unknown>();
  const { promise: limitsCleared, resolve } = Promise.withResolvers<void>();
  const { setTimeout: real, clearTimeout: realClear } = globalThis;
  // The timer of a second that follows an answer never fires here, so that nothing but the end of the connection clears it.
  jest.spyOn(globalThis, "setTimeout").mockImplementation(((work: () => void, ms?: number) => {
    if (ms !== 1000) return real(work, ms);
    const timer = real(() => {}, 0);
    timers.add(timer);
    return timer;
  }) as typeof setTimeout);
  jest.spyOn(globalThis, "clearTimeout").mockImplementation((timer) => {
    realClear(timer);
    if (timers.delete(timer)) resolve();
  });
  expect(await hear("wrong")).toMatchObject({ status: 401 });
  expect(timers.size).toBe(1);
  await limitsCleared;
});
