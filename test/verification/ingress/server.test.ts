/** The server over real sockets: what reaches the ingress, what is refused before it, and how it ends. */
import { connect } from "node:net";
import { afterEach, describe, expect, it } from "@jest/globals";
import { createLog } from "../../../lambdas/shared/log.ts";
import type { Ingress } from "../../../lambdas/verification/ingress/ingress.ts";
import {
  type Page,
  startVerificationServer,
  type VerificationServer,
} from "../../../lambdas/verification/ingress/server.ts";
import { send } from "./send.ts";
import { setUp } from "./setup.ts";
import { bytesOf, fixture, secret, signed } from "./slack-request.ts";

const body = bytesOf(fixture("app-mention"));
const ok: Ingress = async () => ({ status: 200, headers: {}, body: "" });
let server: VerificationServer | undefined;
afterEach(async () => {
  await server?.close();
  server = undefined;
});

async function start({ ingress = ok, page }: { ingress?: Ingress; page?: Page } = {}): Promise<VerificationServer> {
  server = await startVerificationServer({ ingress, port: 0, maxBodyBytes: 10_000, ...(page ? { page } : {}) });
  return server;
}

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
  it("hands the raw bytes and every header to the ingress, so that a signed event reaches the queue", async () => {
    const { ingress, asks } = setUp();
    const { url } = await start({ ingress });
    const answer = await send({ url: `${url}/slack/events`, ...signed({ body }) });
    expect(answer).toEqual({ status: 200, body: "" });
    expect(asks.map(({ message }) => message.text)).toEqual(["What is a sekisho? 関所とは 🏯"]);
  });

  it("shows a header that was sent twice, so that it is refused", async () => {
    const { ingress, asks } = setUp();
    const { url } = await start({ ingress });
    const { headers } = signed({ body });
    const twice = [...headers, ...headers.filter(([name]) => name === "X-Slack-Signature")];
    expect((await send({ url: `${url}/slack/events`, headers: twice, body })).status).toBe(401);
    expect(asks).toEqual([]);
  });

  it("answers Slack's challenge", async () => {
    const { url } = await start({ ingress: setUp().ingress });
    const payload = fixture("url-verification");
    const answer = await send({ url: `${url}/slack/events?x=1`, ...signed({ body: bytesOf(payload) }) });
    expect(answer).toEqual({ status: 200, body: payload.challenge });
  });

  it("listens on loopback unless another address is asked for", async () => {
    expect(new URL((await start()).url).hostname).toBe("127.0.0.1");
  });

  it("is healthy", async () => {
    const { url } = await start();
    expect((await send({ url: `${url}/healthz`, method: "GET" })).status).toBe(200);
  });

  it.each([
    ["GET", "/slack/events", 405, "POST"],
    ["POST", "/healthz", 405, "GET"],
    ["GET", "/", 404, undefined],
    ["POST", "/slack/events/", 404, undefined],
    ["GET", "/../slack/events", 404, undefined],
  ])("answers %s %s with %s", async (method, path, status, allow) => {
    const { port } = await start();
    const answer = await raw(port, `${method} ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`);
    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    if (allow !== undefined) expect(answer).toMatch(new RegExp(`^allow: ${allow}\r$`, "im"));
  });

  it("leaves what is not Slack's to the page, and answers 404 where the page has none", async () => {
    const page: Page = (request, response) => {
      if (request.url !== "/") return false;
      response.end("the page");
      return true;
    };
    const { url } = await start({ page });
    expect(await send({ url: `${url}/`, method: "GET" })).toEqual({ status: 200, body: "the page" });
    expect((await send({ url: `${url}/other`, method: "GET" })).status).toBe(404);
    expect((await send({ url: `${url}/slack/events` })).status).toBe(200);
  });

  it("answers 500 without the cause where the page or the ingress breaks, and lives on", async () => {
    const broken = () => Promise.reject(new Error("the cause"));
    const { url } = await start({ page: broken, ingress: broken });
    expect(await send({ url: `${url}/`, method: "GET" })).toEqual({ status: 500, body: "" });
    expect(await send({ url: `${url}/slack/events`, body })).toEqual({ status: 500, body: "" });
    expect((await send({ url: `${url}/healthz`, method: "GET" })).status).toBe(200);
  });
});

describe("a body above the limit", () => {
  const seen: number[] = [];
  const ingress: Ingress = async (request) => {
    seen.push(request.body.byteLength);
    return ok(request);
  };

  it("is refused by its announced length, before it is read", async () => {
    const { port } = await start({ ingress });
    const head = "POST /slack/events HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999\r\n\r\n";
    expect(await raw(port, head)).toMatch(/^HTTP\/1.1 413 /);
    expect(seen).toEqual([]);
  });

  it("is refused while it is read where no length was announced", async () => {
    const { port } = await start({ ingress });
    const chunk = `1000\r\n${"x".repeat(4096)}\r\n`;
    const head = "POST /slack/events HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
    expect(await raw(port, head + chunk.repeat(3))).toMatch(/^HTTP\/1.1 413 /);
    expect(seen).toEqual([]);
  });

  it("begins one byte above it", async () => {
    const { url } = await start({ ingress });
    expect((await send({ url: `${url}/slack/events`, body: Buffer.alloc(10_000) })).status).toBe(200);
    expect((await send({ url: `${url}/slack/events`, body: Buffer.alloc(10_001) })).status).toBe(413);
    expect(seen).toEqual([10_000]);
  });
});

describe("the server's end and its limits", () => {
  it("cuts off who sends headers or a body too slowly", async () => {
    server = await startVerificationServer({ ingress: ok, port: 0, headersTimeoutMs: 100, requestTimeoutMs: 200 });
    const head = "POST /slack/events HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n";
    const answers = await Promise.all([raw(server.port, head), raw(server.port, `${head}\r\nabc`)]);
    for (const answer of answers) expect(answer).toMatch(/^HTTP\/1.1 408 /);
    expect((await send({ url: `${server.url}/healthz`, method: "GET" })).status).toBe(200);
  });

  it("outlives a caller who hangs up in the middle of the body, and calls that no error", async () => {
    const lines: string[] = [];
    const log = createLog({ service: "verification", write: (line) => lines.push(line) });
    server = await startVerificationServer({ ingress: ok, port: 0, log });
    const { port, url } = server;
    const socket = connect(port, "127.0.0.1");
    socket.write("POST /slack/events HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc", () => socket.destroy());
    await new Promise((resolve) => socket.on("close", resolve));
    expect((await send({ url: `${url}/healthz`, method: "GET" })).status).toBe(200);
    expect(lines).toEqual([]);
  });

  it("answers the request that is under way before it closes", async () => {
    const arrived = Promise.withResolvers<void>();
    const release = Promise.withResolvers<void>();
    const { url, close } = await start({
      ingress: async (request) => {
        arrived.resolve();
        await release.promise;
        return ok(request);
      },
    });
    const answer = send({ url: `${url}/slack/events`, body });
    await arrived.promise;
    const closed = close();
    release.resolve();
    expect((await answer).status).toBe(200);
    await closed;
    await expect(send({ url: `${url}/healthz`, method: "GET" })).rejects.toThrow("ECONNREFUSED");
  });

  it("says what to do where the port is taken", async () => {
    const { port } = await start();
    await expect(startVerificationServer({ ingress: ok, port })).rejects.toThrow(
      `Port ${port} on 127.0.0.1 is already in use. Stop what listens there, or choose another port (SEKISHO_PORT or --port).`,
    );
  });

  it("keeps the secret out of every answer", async () => {
    const { url } = await start({ ingress: setUp().ingress });
    const answer = await send({ url: `${url}/slack/events`, headers: [], body });
    expect(JSON.stringify(answer)).not.toContain(secret);
  });
});
