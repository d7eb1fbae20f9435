/** The HTTP client, against real sockets. */

import {
  createServer as createHttpServer,
  type IncomingMessage,
  type ServerResponse,
} from "node:http";
import { createSecureServer } from "node:http2";
import { createServer, type Socket } from "node:net";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { TLSSocket } from "node:tls";
import { Worker } from "node:worker_threads";
import { describe, expect, it, jest } from "@jest/globals";
import { freePort } from "@sekisho/local/free-port.ts";
import {
  createHttpClient,
  type HttpError,
  type HttpRequest,
  upTo,
} from "@sekisho/runtime/http/client.ts";
import { createAuthority } from "../../doubles/issuers/certificates.ts";
import { closeAfterTest, listen } from "../../doubles/serving.ts";
import { hangSignal } from "../../tooling/hang.ts";

type Given = Partial<HttpRequest<Buffer>> & { maxBytes?: number };

function clientOf(options: Parameters<typeof createHttpClient>[0] = {}) {
  const client = closeAfterTest(createHttpClient(options));
  return {
    ...client,
    send: (url: string, { maxBytes = 1000, ...args }: Given = {}) =>
      client.send({
        method: "POST",
        url: new URL(url),
        headers: {},
        body: "{}",
        signal: hangSignal(),
        collect: upTo(maxBytes),
        ...args,
      }),
  };
}

/** The kind of the HttpError, or the status of the response. */
function outcome(sending: Promise<{ status: number }>): Promise<string | number> {
  return sending.then(
    ({ status }) => status,
    ({ name, kind }: HttpError) => (name === "HttpError" ? kind : name),
  );
}

/** A server of bare bytes. `serve` gets each connection at each of its requests; `count` is the number of the request. */
async function socketPeer(serve: (socket: Socket, count: number) => void, scheme = "http") {
  const sockets: Socket[] = [];
  let requests = 0;
  const server = createServer((socket) => {
    sockets.push(socket);
    socket.on("error", () => {});
    socket.on("data", () => {
      requests += 1;
      serve(socket, requests);
    });
  });
  const url = `${scheme}://127.0.0.1:${await listen(server)}/`;
  return { url, sockets, requests: () => requests };
}

const answer = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}";

async function httpPeer(handle: (request: IncomingMessage, response: ServerResponse) => void) {
  const requests: { request: IncomingMessage; body: string }[] = [];
  const server = createHttpServer(async (request, response) => {
    let body = "";
    for await (const chunk of request.setEncoding("utf8")) body += chunk;
    requests.push({ request, body });
    handle(request, response);
  });
  return { url: `http://127.0.0.1:${await listen(server)}/`, received: requests };
}

async function waitForClose(socket: Socket | undefined): Promise<void> {
  if (socket === undefined) throw new Error("There was no connection.");
  if (!socket.closed) await new Promise((resolve) => socket.once("close", resolve));
}

describe("a request", () => {
  it("sends the request unchanged and returns the whole response", async () => {
    const { url, received: requests } = await httpPeer((_request, response) => {
      response.setHeader("x-many", ["a", "b"]).setHeader("retry-after", ["1", "2"]).end("Grüße");
    });
    const { send } = clientOf();
    const headers = { "x-one": "1" };
    const response = await send(`${url}a/b?c=d%20e`, { headers, body: "頼" });
    expect(response).toMatchObject({
      status: 200,
      headers: { "x-many": "a, b", "retry-after": "1" },
    });
    expect(response.body.toString()).toBe("Grüße");
    expect(requests[0]).toMatchObject({
      body: "頼",
      request: { method: "POST", url: "/a/b?c=d%20e" },
    });
    expect(requests[0]?.request.headers).toEqual({
      host: new URL(url).host,
      connection: "keep-alive",
      "x-one": "1",
      "content-length": "3",
    });
  });

  it("sends a content length of 0 without a body, and no content length with a GET", async () => {
    const { url, received: requests } = await httpPeer((_request, response) =>
      response.writeHead(204).end(),
    );
    const { send } = clientOf();
    expect(await send(url, { body: undefined })).toMatchObject({
      status: 204,
      body: Buffer.alloc(0),
    });
    await send(url, { method: "GET", body: new Uint8Array() });
    expect(requests.map(({ request }) => request.headers["content-length"])).toEqual([
      "0",
      undefined,
    ]);
  });

  it.each([301, 302, 303, 307, 308])("does not follow the redirect %i", async (status) => {
    const elsewhere = await httpPeer((_request, response) => response.end());
    const { url } = await httpPeer((_request, response) =>
      response.writeHead(status, { location: elsewhere.url }).end(),
    );
    expect(await clientOf().send(url)).toMatchObject({
      status,
      headers: { location: elsewhere.url },
    });
    expect(elsewhere.received).toEqual([]);
  });

  it.each([1, 7, 1000])(
    "skips unsolicited interim responses that arrive in pieces of %i bytes",
    async (pieceBytes) => {
      const interim =
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\nHTTP/1.1 100 \r\nx: y\r\n\r\n";
      const { url, requests, sockets } = await socketPeer(async (socket) => {
        const bytes = interim + answer;
        for (let at = 0; at < bytes.length; at += pieceBytes) {
          socket.write(bytes.slice(at, at + pieceBytes));
          await nextTurn();
        }
      });
      const { send } = clientOf();
      const collect = jest.fn(upTo(1000));
      for (const _ of [1, 2])
        expect(await send(url, { collect })).toMatchObject({
          status: 200,
          body: Buffer.from("{}"),
        });
      expect(collect.mock.calls).toMatchObject(
        Array(2).fill([{ status: 200, headers: { "content-length": "2" } }]),
      );
      expect([requests(), sockets.length]).toEqual([2, 1]);
    },
  );

  it("treats a request as ambiguous if no complete response follows an interim one", async () => {
    for (const interim of ["HTTP/1.1 100 Continue\r\n\r\n", "HTTP/1.1 100 Con", "HTTP/1.1 1"]) {
      const { url } = await socketPeer((socket) => socket.end(interim));
      expect(await outcome(clientOf().send(url))).toBe("ambiguous");
    }
  });

  it("returns to each of many concurrent requests its own response", async () => {
    const { url } = await httpPeer((request, response) => response.end(request.url));
    const { send } = clientOf();
    const paths = Array.from({ length: 200 }, (_, index) => `/${index}`);
    const responses = await Promise.all(paths.map((path) => send(new URL(path, url).href)));
    expect(responses.map(({ body }) => body.toString())).toEqual(paths);
  });

  it("speaks HTTP/1.1 also to a peer that prefers HTTP/2", async () => {
    const authority = await createAuthority("an authority");
    const own = await authority.issue({ name: "peer" });
    const server = createSecureServer({ ...own, allowHTTP1: true }, (request, response) => {
      response.end(String((request.socket as TLSSocket).alpnProtocol));
    });
    const url = `https://127.0.0.1:${await listen(server)}/`;
    const { body } = await clientOf().send(url, { certificate: { ca: authority.ca } });
    expect(body.toString()).toBe("http/1.1");
  });
});

describe("the body of a response", () => {
  it("accepts exactly the allowed number of bytes, announced or not", async () => {
    const { url } = await httpPeer((request, response) => {
      if (request.url === "/announced") response.setHeader("content-length", 1000);
      for (let pieces = 0; pieces < 10; pieces += 1) response.write("x".repeat(100));
      response.end();
    });
    const { send } = clientOf();
    for (const path of ["announced", "chunked"]) {
      expect((await send(url + path, { maxBytes: 1000 })).body).toHaveLength(1000);
      expect(await outcome(send(url + path, { maxBytes: 999 }))).toBe("too_large");
    }
  });

  it("stops reading a response that is too large", async () => {
    const { url, sockets } = await socketPeer((socket) => {
      const more = () =>
        socket.writable && socket.write(`3e8\r\n${"x".repeat(1000)}\r\n`, () => setImmediate(more));
      socket.write("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n", more);
    });
    expect(await outcome(clientOf().send(url))).toBe("too_large");
    await waitForClose(sockets[0]);
  });

  it("leaves the body unread if the head is refused, and the next request works", async () => {
    const { url, sockets } = await socketPeer((socket) => socket.write(answer));
    const { send } = clientOf();
    const refusal = new Error("refused");
    const collect = () => {
      throw refusal;
    };
    await expect(send(url, { collect })).rejects.toBe(refusal);
    await waitForClose(sockets[0]);
    expect(await outcome(send(url))).toBe(200);
  });
});

/** A fatal alert, handshake_failure (RFC 8446, section 6). */
const tlsAlert = Buffer.from("15030300020228", "hex");

describe("a failed request", () => {
  it.each<[string, (socket: Socket) => void]>([
    ["the peer does not speak TLS", (socket) => socket.end("HTTP/1.1 400 Bad Request\r\n\r\n")],
    ["the peer refuses TLS", (socket) => socket.end(tlsAlert)],
    ["the peer closes the connection in the handshake", (socket) => socket.destroy()],
    ["the peer resets the handshake", (socket) => socket.resetAndDestroy()],
  ])("reports a request as unsent if %s", async (_what, serve) => {
    const { url } = await socketPeer(serve, "https");
    expect(await outcome(clientOf().send(url))).toBe("unsent");
  });

  it("reports a request as unsent if the port is closed or the name has no address", async () => {
    const { send } = clientOf();
    const refusal = send(`http://127.0.0.1:${await freePort()}/`);
    await expect(refusal).rejects.toMatchObject({
      kind: "unsent",
      cause: { code: "ECONNREFUSED" },
    });
    expect(await outcome(send("http://sekisho.invalid/"))).toBe("unsent");
  });

  it("reports a request as unsent if the certificate of the peer is not trusted", async () => {
    const authority = await createAuthority("an authority");
    const server = createSecureServer({
      ...(await authority.issue({ name: "peer" })),
      allowHTTP1: true,
    });
    const url = `https://127.0.0.1:${await listen(server)}/`;
    expect(await outcome(clientOf().send(url))).toBe("unsent");
  });

  it("reports a request as unsent if one of its headers is invalid", async () => {
    const { url, sockets } = await socketPeer(() => {});
    expect(await outcome(clientOf().send(url, { headers: { "x-a": "b\r\nc: d" } }))).toBe("unsent");
    expect(sockets).toEqual([]);
  });

  it("reports a request as ambiguous if the peer hangs up, resets or breaks off its answer", async () => {
    const { send } = clientOf();
    for (const serve of [
      (socket: Socket) => socket.destroy(),
      (socket: Socket) => socket.end(),
      (socket: Socket) => socket.resetAndDestroy(),
      (socket: Socket) => socket.end(answer.slice(0, -1)),
      (socket: Socket) => socket.end(answer.slice(0, 20)),
      (socket: Socket) =>
        socket.end("HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n"),
    ]) {
      const { url, requests } = await socketPeer(serve);
      expect(await outcome(send(url))).toBe("ambiguous");
      // Not even what HTTP calls idempotent is repeated.
      expect(await outcome(send(url, { method: "GET", body: undefined }))).toBe("ambiguous");
      expect(requests()).toBe(2);
    }
  });

  it.each([
    ["another protocol", "SSH-2.0-OpenSSH_9.2\r\n"],
    ["a length that is not a number", "HTTP/1.1 200 OK\r\ncontent-length: many\r\n\r\n"],
    ["headers without an end", `HTTP/1.1 200 OK\r\nx: ${"y".repeat(100_000)}`],
  ])("reports an answer that is not HTTP: %s", async (_what, bytes) => {
    const { url } = await socketPeer((socket) => socket.end(bytes));
    expect(await outcome(clientOf().send(url))).toBe("not_http");
  });

  it("does not reuse the connection of a failed request", async () => {
    const { url, requests } = await socketPeer((socket, count) =>
      count % 2 === 1 ? socket.destroy() : socket.write(answer),
    );
    const { send } = clientOf();
    const outcomes: unknown[] = [];
    for (let count = 0; count < 4; count += 1) outcomes.push(await outcome(send(url)));
    expect(outcomes).toEqual(["ambiguous", 200, "ambiguous", 200]);
    expect(requests()).toBe(4);
  });
});

describe("a request that its caller gives up", () => {
  it("opens no connection if the caller gave up before the start", async () => {
    const { url, sockets } = await socketPeer(() => {});
    const reason = new Error("no longer needed");
    const sending = clientOf().send(url, { signal: AbortSignal.abort(reason) });
    await expect(sending).rejects.toMatchObject({ kind: "unsent", cause: reason });
    expect(sockets).toEqual([]);
  });

  it("reports a request as unsent and stops connecting if the caller gives up meanwhile", async () => {
    const caller = new AbortController();
    const { url, sockets } = await socketPeer(() => caller.abort(), "https");
    expect(await outcome(clientOf().send(url, { signal: caller.signal }))).toBe("unsent");
    await waitForClose(sockets[0]);
  });

  it.each([
    ["before the headers", ""],
    ["in the middle of the headers", answer.slice(0, 20)],
    ["in the middle of the body", answer.slice(0, -1)],
  ])(
    "reports a request given up %s as ambiguous and closes its connection",
    async (_when, bytes) => {
      const caller = new AbortController();
      const { url, sockets } = await socketPeer((socket) =>
        socket.write(bytes, () => setImmediate(() => caller.abort())),
      );
      const sending = clientOf().send(url, { signal: caller.signal });
      await expect(sending).rejects.toMatchObject({
        kind: "ambiguous",
        cause: { name: "AbortError" },
      });
      await waitForClose(sockets[0]);
    },
  );

  it("removes its listener from the signal after success and failure", async () => {
    const { url } = await socketPeer((socket, count) =>
      count === 1 ? socket.write(answer) : socket.destroy(),
    );
    const { signal } = new AbortController();
    const addSpy = jest.spyOn(signal, "addEventListener");
    const removeSpy = jest.spyOn(signal, "removeEventListener");
    const { send } = clientOf();
    expect([await outcome(send(url, { signal })), await outcome(send(url, { signal }))]).toEqual([
      200,
      "ambiguous",
    ]);
    expect(removeSpy.mock.calls.length).toBeGreaterThanOrEqual(2);
    for (const [type, listener] of addSpy.mock.calls)
      expect(removeSpy.mock.calls).toContainEqual([type, listener]);
  });

  it("gives up a connection attempt after its own time limit", async () => {
    const { url, sockets } = await socketPeer(() => {}, "https");
    // Undici's own limit is longer than the caller's patience.
    const sending = clientOf({ connectTimeoutMs: 50 }).send(url, { signal: hangSignal() });
    await expect(sending).rejects.toMatchObject({
      kind: "unsent",
      cause: { code: "UND_ERR_CONNECT_TIMEOUT" },
    });
    await waitForClose(sockets[0]);
  });
});

/** Advances the client's timers alone. */
function fakeTimeouts(): void {
  const real = [
    "Date",
    "hrtime",
    "nextTick",
    "performance",
    "queueMicrotask",
    "setImmediate",
    "setInterval",
  ] as const;
  jest.useFakeTimers({ doNotFake: [...real] });
  closeAfterTest({ close: () => jest.useRealTimers() });
}

describe("a connection", () => {
  it("reuses idle connections and never shares one between concurrent requests", async () => {
    const { url, sockets } = await socketPeer((socket) => socket.write(answer));
    const { send } = clientOf();
    for (let count = 0; count < 3; count += 1) await send(url);
    expect(sockets).toHaveLength(1);
    await Promise.all([send(url), send(url), send(url)]);
    expect(sockets).toHaveLength(3);
    await Promise.all([send(url), send(url), send(url)]);
    expect(sockets).toHaveLength(3);
  });

  it.each([
    ["four seconds", "", 4000],
    ["a second less than the peer's limit", "keep-alive: timeout=3\r\n", 2000],
    ["four seconds although the peer's limit is longer", "keep-alive: timeout=60\r\n", 4000],
  ])("closes a connection that has been idle for %s", async (_howLong, header, idleMs) => {
    fakeTimeouts();
    const { url, sockets } = await socketPeer((socket) =>
      socket.write(`HTTP/1.1 200 OK\r\n${header}content-length: 2\r\n\r\n{}`),
    );
    const { signal } = new AbortController();
    const { send } = clientOf();
    await send(url, { signal });
    for (let turns = 0; turns < 3; turns += 1) await nextTurn();
    jest.advanceTimersByTime(idleMs - 1);
    await send(url, { signal });
    expect(sockets).toHaveLength(1);
    for (let turns = 0; turns < 3; turns += 1) await nextTurn();
    jest.advanceTimersByTime(idleMs);
    await waitForClose(sockets[0]);
    await send(url, { signal });
    expect(sockets).toHaveLength(2);
  });

  it.each([
    ["closes it", "connection: close\r\n"],
    ["announces a limit of a second", "keep-alive: timeout=1\r\n"],
  ])("does not reuse a connection if the peer %s", async (_what, header) => {
    const { url, sockets } = await socketPeer((socket) =>
      socket.write(`HTTP/1.1 200 OK\r\n${header}content-length: 2\r\n\r\n{}`),
    );
    const { send } = clientOf();
    for (let count = 0; count < 2; count += 1) await send(url);
    expect(sockets).toHaveLength(2);
  });

  it("does not reuse a connection whose peer answered before it read the whole request", async () => {
    const { url, sockets } = await socketPeer((socket, count) => {
      if (sockets.length === 1 && count === 1) socket.pause();
      socket.write(answer);
    });
    const { send } = clientOf();
    await send(url, { body: Buffer.alloc(32 * 1024 * 1024) });
    expect(await outcome(send(url))).toBe(200);
    expect(sockets).toHaveLength(2);
  });

  it("replaces a connection that the peer closed while this process was frozen", async () => {
    const { url, close, connections } = await peerInThread();
    const { send } = clientOf();
    expect((await send(url)).body.toString()).toBe("1");
    await nextTurn();
    close();
    // Nothing was awaited since, so the end of the connection is still unread.
    expect((await send(url)).body.toString()).toBe("2");
    expect(connections()).toBe(2);
  });

  it("closes idle and busy connections with the client, and a running request fails", async () => {
    const arrival = Promise.withResolvers<void>();
    const { url, sockets } = await socketPeer((socket, count) =>
      count === 1 ? socket.write(answer) : arrival.resolve(),
    );
    const { send, close } = clientOf();
    await send(url);
    const waiting = outcome(send(url));
    await arrival.promise;
    close();
    expect(await waiting).toBe("ambiguous");
    await waitForClose(sockets[0]);
  });

  it("closes a connection that is being opened together with the client", async () => {
    const arrival = Promise.withResolvers<void>();
    const { url, sockets } = await socketPeer(() => arrival.resolve(), "https");
    const { send, close } = clientOf();
    const waiting = outcome(send(url));
    await arrival.promise;
    close();
    expect(await waiting).toBe("unsent");
    await waitForClose(sockets[0]);
  });
});

/** A server in a thread, whose answer is the number of its requests. `close` blocks until it has closed its connections. */
async function peerInThread() {
  const counters = new Int32Array(new SharedArrayBuffer(8));
  const code = `
    const { createServer } = require("node:net");
    const { parentPort, workerData: shared } = require("node:worker_threads");
    const sockets = [];
    let requests = 0;
    const server = createServer((socket) => {
      Atomics.add(shared, 1, 1);
      sockets.push(socket);
      socket.on("error", () => {});
      socket.on("data", () => socket.write("HTTP/1.1 200 OK\\r\\ncontent-length: 1\\r\\n\\r\\n" + ++requests));
    });
    server.listen(0, "127.0.0.1", () => parentPort.postMessage(server.address().port));
    parentPort.on("message", () => {
      let left = sockets.length;
      for (const socket of sockets.splice(0)) socket.destroy().once("close", () => {
        if (--left === 0) { Atomics.store(shared, 0, 1); Atomics.notify(shared, 0); }
      });
    });`;
  const worker = new Worker(code, { eval: true, workerData: counters });
  closeAfterTest({ close: () => worker.terminate() });
  const port = await new Promise<number>((resolve) => worker.once("message", resolve));
  return {
    url: `http://127.0.0.1:${port}/`,
    connections: () => Atomics.load(counters, 1),
    close() {
      worker.postMessage("close");
      if (Atomics.wait(counters, 0, 0, 20_000) === "timed-out")
        throw new Error("The peer did not close.");
    },
  };
}
