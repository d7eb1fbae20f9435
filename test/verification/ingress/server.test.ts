/** The HTTP server of the ingress. */
import { connect } from "node:net";
import { describe, expect, it } from "@jest/globals";
import type { Ingress } from "@sekisho/verification/ingress/ingress.ts";
import { type Page, startVerificationServer } from "@sekisho/verification/ingress/server.ts";
import { collectLog } from "../../doubles/collect-log.ts";
import { closeAfterTest } from "../../doubles/serving.ts";
import { setUp } from "./setup.ts";
import { bytesOf, createSignedRequest, fixture, send } from "./slack-request.ts";

const body = bytesOf(fixture("app-mention"));
const ok: Ingress = async () => ({ status: 200, headers: {}, body: "" });

type Given = Partial<Parameters<typeof startVerificationServer>[0]>;

async function startWith(args: Given) {
  return closeAfterTest(await startVerificationServer({ ingress: ok, port: 0, ...args }));
}

const start = (args: Given = {}) => startWith({ maxBodyBytes: 10_000, ...args });

const statusOf = async (request: Parameters<typeof send>[0]) => (await send(request)).status;

/** Writes raw bytes and resolves to everything that came back until the server closed the connection. */
function raw(port: number, bytes: string): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  let answer = "";
  const socket = connect(port, "127.0.0.1", () => socket.write(bytes));
  socket.on("data", (chunk) => {
    answer += chunk.toString("latin1");
  });
  socket.on("error", () => {});
  socket.on("close", () => resolve(answer));
  return promise;
}

describe("the server", () => {
  it("passes the raw bytes and every header to the ingress", async () => {
    const { ingress, asks } = setUp();
    const { url } = await start({ ingress });
    const answer = await send({ url: `${url}/slack/events?x=1`, ...createSignedRequest({ body }) });
    expect(answer).toEqual({ status: 200, body: "" });
    expect(asks.map(({ message }) => message.text)).toEqual(["What is a sekisho? 関所とは 🏯"]);
  });

  it("passes on a header that was sent twice, so that it is refused", async () => {
    const { ingress, asks } = setUp();
    const { url } = await start({ ingress });
    const { headers } = createSignedRequest({ body });
    const twice = [...headers, ...headers.filter(([name]) => name === "X-Slack-Signature")];
    expect(await statusOf({ url: `${url}/slack/events`, headers: twice, body })).toBe(401);
    expect(asks).toEqual([]);
  });

  it("listens on loopback unless another address is configured", async () => {
    expect(new URL((await start()).url).hostname).toBe("127.0.0.1");
  });

  it("answers 200 to a health check", async () => {
    const { url } = await start();
    expect(await statusOf({ url: `${url}/healthz`, method: "GET" })).toBe(200);
  });

  it.each([
    ["GET", "/slack/events", 405, "POST"],
    ["POST", "/healthz", 405, "GET"],
    ["GET", "/", 404, undefined],
    ["POST", "/slack/events/", 404, undefined],
    ["GET", "/../slack/events", 404, undefined],
  ])("answers %s %s with %s", async (method, path, status, allow) => {
    const { port } = await start();
    const answer = await raw(
      port,
      `${method} ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`,
    );
    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    if (allow !== undefined) expect(answer).toMatch(new RegExp(`^allow: ${allow}\r$`, "im"));
  });

  it("passes other requests to the page and answers 404 if the page has no answer", async () => {
    const page: Page = (request, response) => {
      if (request.url !== "/") return false;
      response.end("the page");
      return true;
    };
    const { url } = await start({ page });
    expect(await send({ url: `${url}/`, method: "GET" })).toEqual({
      status: 200,
      body: "the page",
    });
    expect(await statusOf({ url: `${url}/other`, method: "GET" })).toBe(404);
    expect(await statusOf({ url: `${url}/slack/events` })).toBe(200);
  });

  it("answers 500 without the cause if the page or the ingress fails, and keeps serving", async () => {
    const failHandler = () => Promise.reject(new Error("the cause"));
    const { url } = await start({ page: failHandler, ingress: failHandler });
    expect(await send({ url: `${url}/`, method: "GET" })).toEqual({ status: 500, body: "" });
    expect(await send({ url: `${url}/slack/events`, body })).toEqual({ status: 500, body: "" });
    expect(await statusOf({ url: `${url}/healthz`, method: "GET" })).toBe(200);
  });
});

/** Headers that nothing but the body can prove wrong. */
function plausible(): string {
  const { headers } = createSignedRequest({
    body,
    timestamp: String(Math.floor(Date.now() / 1000)),
    key: "false",
  });
  return headers.map(([name, value]) => `${name}: ${value}\r\n`).join("");
}

describe("a body above the limit", () => {
  const ingress = () => setUp({ now: Date.now }).ingress;

  it("refuses a body that announces too many bytes before it reads it", async () => {
    const { port } = await start({ ingress: ingress() });
    const head = `POST /slack/events HTTP/1.1\r\nHost: a\r\n${plausible()}Content-Length: 99999999\r\n\r\n`;
    expect(await raw(port, head)).toMatch(/^HTTP\/1.1 413 /);
  });

  it("refuses a body without an announced length while it reads it", async () => {
    const { port } = await start({ ingress: ingress() });
    const chunk = `1000\r\n${"x".repeat(4096)}\r\n`;
    const head = `POST /slack/events HTTP/1.1\r\nHost: a\r\n${plausible()}Transfer-Encoding: chunked\r\n\r\n`;
    expect(await raw(port, head + chunk.repeat(3))).toMatch(/^HTTP\/1.1 413 /);
  });

  it("refuses a body one byte above the limit", async () => {
    const { url } = await start({ ingress: setUp().ingress });
    const bytes = (length: number) =>
      statusOf({
        url: `${url}/slack/events`,
        ...createSignedRequest({ body: Buffer.alloc(length, "x") }),
      });
    expect(await bytes(10_000)).toBe(200);
    expect(await bytes(10_001)).toBe(413);
  });
});

/** Writes the head, which announces a body, and nothing of the body. Resolves to what comes back by itself. */
const headAlone = (port: number, headers: string) =>
  raw(port, `POST /slack/events HTTP/1.1\r\nHost: a\r\nContent-Length: 5000\r\n${headers}\r\n`);

describe("headers that are refused before the body", () => {
  it.each([
    ["without a signature", "X-Slack-Request-Timestamp: 1762750300\r\n"],
    [
      "with a signature of another form",
      "X-Slack-Request-Timestamp: 1762750300\r\nX-Slack-Signature: v0=00\r\n",
    ],
    [
      "with an old timestamp",
      `X-Slack-Request-Timestamp: 1\r\nX-Slack-Signature: v0=${"0".repeat(64)}\r\n`,
    ],
  ])("refuses a request before its body arrives: %s", async (_what, headers) => {
    const { ingress, lines } = setUp();
    const { port } = await start({ ingress });
    const answer = await headAlone(port, headers);
    expect(answer).toMatch(/^HTTP\/1.1 401 /);
    expect(answer).toMatch(/^connection: close\r$/im);
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([{ message: "request_refused" }]);
  });
});

describe("refused requests", () => {
  it("logs refused requests once per reason, address and minute", async () => {
    let nowMs = 1_762_750_300_000;
    const { ingress, lines } = setUp({ now: () => nowMs });
    const { url } = await start({ ingress });
    const refuse = async (times: number) => {
      for (let count = 0; count < times; count++) {
        expect(await statusOf({ url: `${url}/slack/events`, headers: [], body })).toBe(401);
      }
    };
    await refuse(5);
    const line = { message: "request_refused", reason: "unsigned", source_address: "127.0.0.1" };
    expect(lines.map((each) => JSON.parse(each))).toMatchObject([line]);
    nowMs += 60_000;
    await refuse(5);
    expect(lines.map((each) => JSON.parse(each))).toMatchObject([line, line]);
  });
});

describe("many bodies at once", () => {
  /** Sends all of a body but its last byte, and tells what came back until the connection closed. */
  function hold(
    port: number,
    bytes: number,
  ): { answer: Promise<string>; finish(): void; hangUp(): void } {
    const { promise, resolve } = Promise.withResolvers<string>();
    let answer = "";
    const socket = connect(port, "127.0.0.1", () => {
      const head = `POST /slack/events HTTP/1.1\r\nHost: a\r\n${plausible()}Connection: close\r\n`;
      socket.write(`${head}Content-Length: ${bytes}\r\n\r\n${"x".repeat(bytes - 1)}`);
    });
    socket.on("data", (chunk) => {
      answer += chunk.toString("latin1");
    });
    socket.on("error", () => {});
    socket.on("close", () => resolve(answer));
    return {
      answer: promise,
      finish: () => void socket.write("x"),
      hangUp: () => void socket.destroy(),
    };
  }

  /** Holds all but one byte of so many bodies, each once more when it is cut off, until it is told to stop. */
  function holdAgain({ port, bytes, times }: { port: number; bytes: number; times: number }): {
    stop(): void;
  } {
    const current = new Map<number, ReturnType<typeof hold>>();
    let isStopped = false;
    async function again(index: number): Promise<void> {
      while (!isStopped) {
        const heldConnection = hold(port, bytes);
        current.set(index, heldConnection);
        await heldConnection.answer;
      }
    }
    for (let index = 0; index < times; index++) void again(index);
    return {
      stop() {
        isStopped = true;
        for (const { hangUp } of current.values()) hangUp();
      },
    };
  }

  it("limits the memory of all bodies together and cuts off the oldest unfinished ones", async () => {
    const { ingress, lines } = setUp({ now: Date.now });
    const server = await startWith({ ingress, maxHeldBytes: 100_000 });
    const { port } = server;
    const heldConnections = Array.from({ length: 20 }, () => hold(port, 10_000));
    let cutOff = 0;
    const tenCutOff = Promise.withResolvers<void>();
    for (const { answer } of heldConnections) {
      void answer.then(() => {
        cutOff += 1;
        if (cutOff === 10) tenCutOff.resolve();
      });
    }
    // Ten fit, and wait for their last byte.
    await tenCutOff.promise;
    for (const { finish } of heldConnections) finish();
    const statuses = (await Promise.all(heldConnections.map(({ answer }) => answer)))
      .map((answer) => answer.slice(9, 12))
      .sort();
    // Those that were read to their end had a false signature.
    expect(statuses).toEqual([...Array(10).fill(""), ...Array(10).fill("401")]);
    expect(
      lines.map((line) => JSON.parse(line)).filter(({ reason }) => reason === "busy"),
    ).toHaveLength(1);
    const timestamp = String(Math.floor(Date.now() / 1000));
    const large = createSignedRequest({ body: Buffer.alloc(90_000, "x"), key: "false", timestamp });
    expect(await statusOf({ url: `${server.url}/slack/events`, ...large })).toBe(401);
  });

  it("keeps serving signed requests, however often senders of unfinished bodies return", async () => {
    const { ingress, asks } = setUp({ now: Date.now });
    const server = await startWith({ ingress, maxHeldBytes: 50_000 });
    const { port, url } = server;
    const attackers = holdAgain({ port, bytes: 10_000, times: 17 });
    await hold(port, 10_000).answer;
    const timestamp = String(Math.floor(Date.now() / 1000));
    for (let count = 0; count < 10; count++) {
      expect(
        await statusOf({ url: `${url}/slack/events`, ...createSignedRequest({ body, timestamp }) }),
      ).toBe(200);
    }
    expect(asks).toHaveLength(10);
    attackers.stop();
  });

  it("keeps complete requests and refuses a new body if all others are complete", async () => {
    const arrival = Promise.withResolvers<void>();
    const goOn = Promise.withResolvers<void>();
    const ingress: Ingress = async ({ body: values }) => {
      const readValue = typeof values === "function" ? await values() : values;
      if (typeof readValue === "string") return { status: 503, headers: {}, body: "" };
      arrival.resolve();
      await goOn.promise;
      return { status: 200, headers: {}, body: "" };
    };
    const server = await startWith({ ingress, maxHeldBytes: 10_000 });
    const { url } = server;
    const whole = send({ url: `${url}/slack/events`, body: Buffer.alloc(6000, "x") });
    await arrival.promise;
    expect(await statusOf({ url: `${url}/slack/events`, body: Buffer.alloc(6000, "x") })).toBe(503);
    goOn.resolve();
    expect((await whole).status).toBe(200);
  });
});

describe("many connections at once", () => {
  function open(port: number): { opened: Promise<unknown>; closed: Promise<unknown>; end(): void } {
    const socket = connect(port, "127.0.0.1");
    socket.on("error", () => {});
    return {
      opened: new Promise((resolve) => socket.on("connect", resolve)),
      closed: new Promise((resolve) => socket.on("close", resolve)),
      end: () => void socket.end(),
    };
  }

  it("limits connections and closes the one that has been idle longest", async () => {
    const server = await startWith({ maxConnections: 3 });
    const { port, url } = server;
    const sockets = [open(port), open(port), open(port)];
    await Promise.all(sockets.map(({ opened: openWorld }) => openWorld));
    for (let count = 0; count < 3; count++) {
      expect(await statusOf({ url: `${url}/healthz`, method: "GET" })).toBe(200);
    }
    await sockets[0]?.closed;
    for (const { end } of sockets) end();
    await Promise.all(sockets.map(({ closed }) => closed));
  });

  it("keeps a connection with a running request and closes the new one if all have one", async () => {
    const arrival = Promise.withResolvers<void>();
    const goOn = Promise.withResolvers<void>();
    const ingress: Ingress = async ({ body: values }) => {
      if (typeof values === "function") await values();
      arrival.resolve();
      await goOn.promise;
      return { status: 200, headers: {}, body: "" };
    };
    const server = await startWith({ ingress, maxConnections: 1 });
    const { port, url } = server;
    const slowAnswer = send({ url: `${url}/slack/events`, body });
    await arrival.promise;
    expect(await raw(port, "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n")).toBe("");
    goOn.resolve();
    expect((await slowAnswer).status).toBe(200);
    // The connection that was kept alive for it has no request any more.
    expect(await statusOf({ url: `${url}/healthz`, method: "GET" })).toBe(200);
  });
});

describe("the shutdown and the limits of the server", () => {
  it("cuts off callers that send headers or a body too slowly", async () => {
    const { ingress } = setUp({ now: Date.now });
    const server = await startWith({ ingress, headersTimeoutMs: 100, requestTimeoutMs: 200 });
    const head = "POST /slack/events HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n";
    const begunRequest = `${head}${plausible()}\r\nabc`;
    const answers = await Promise.all([raw(server.port, head), raw(server.port, begunRequest)]);
    for (const answer of answers) expect(answer).toMatch(/^HTTP\/1.1 408 /);
    expect(await statusOf({ url: `${server.url}/healthz`, method: "GET" })).toBe(200);
  });

  it("survives a caller that hangs up in the middle of a body and logs no error", async () => {
    const { log, lines } = collectLog();
    const server = await startWith({ ingress: setUp({ now: Date.now }).ingress, log });
    const { port, url } = server;
    const socket = connect(port, "127.0.0.1");
    const head = `POST /slack/events HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n${plausible()}\r\nabc`;
    socket.write(head, () => socket.destroy());
    await new Promise((resolve) => socket.on("close", resolve));
    expect(await statusOf({ url: `${url}/healthz`, method: "GET" })).toBe(200);
    expect(lines).toEqual([]);
  });

  it("answers the running request before it closes", async () => {
    const arrival = Promise.withResolvers<void>();
    const release = Promise.withResolvers<void>();
    const { url, close } = await start({
      ingress: async (request) => {
        arrival.resolve();
        await release.promise;
        return ok(request);
      },
    });
    const answer = send({ url: `${url}/slack/events`, body });
    await arrival.promise;
    const closing = close();
    release.resolve();
    expect((await answer).status).toBe(200);
    await closing;
    await expect(send({ url: `${url}/healthz`, method: "GET" })).rejects.toThrow("ECONNREFUSED");
  });

  it("says what to do if the port is taken", async () => {
    const { port } = await start();
    await expect(startVerificationServer({ ingress: ok, port })).rejects.toThrow(
      `Port ${port} on 127.0.0.1 is already in use. Stop the program that listens there, or choose another port (SEKISHO_PORT or --port).`,
    );
  });
});
