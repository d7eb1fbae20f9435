import { createServer, type Socket } from "node:net";
import { afterAll, beforeAll, describe, expect, it, jest } from "@jest/globals";
import { type Authorizer, noAuthorizer } from "@sekisho/runtime/auth/authorizer.ts";
import { createBearerAuthorizer } from "@sekisho/runtime/auth/token-authorizer.ts";
import { createHttpClient } from "@sekisho/runtime/http/client.ts";
import { createTrace } from "@sekisho/runtime/telemetry/telemetry.ts";
import { createHttpsTransport } from "@sekisho/verification/transport/http/transport.ts";
import { sendOnce } from "@sekisho/verification/transport/send-once.ts";
import type { Transport } from "@sekisho/verification/transport/transport.ts";
import { json, raw } from "../../../doubles/answers.ts";
import {
  type Authority,
  type Certified,
  createAuthority,
} from "../../../doubles/issuers/certificates.ts";
import { startTlsPeer, type TlsPeer } from "../../../doubles/issuers/tls-peer.ts";
import { closeAfterTest, listen, serve } from "../../../doubles/serving.ts";
import { hangSignal } from "../../../tooling/hang.ts";

/** All but `setTimeout`. */
const realTimeButTimers = [
  "Date",
  "hrtime",
  "nextTick",
  "performance",
  "queueMicrotask",
  "setImmediate",
] as const;

function transportTo(url: string, authorizer: Authorizer = noAuthorizer): Transport {
  return closeAfterTest(createHttpsTransport({ url, authorizer, maxResponseBytes: 4096 }));
}

/** A server that answers each request by `handle`, and what it received. */
async function peer(
  handle: (request: Request) => Response | Promise<Response>,
  authorizer?: Authorizer,
) {
  const { url, received } = await serve(({ request }) => handle(request));
  const requests = () => received.map(({ request }) => request);
  return { transport: transportTo(url, authorizer), url, requests };
}

/** A server of bare bytes: `serve` gets each connection once its first bytes have come. */
async function socketPeer(serve: (socket: Socket) => void, protocol = "http") {
  let connections = 0;
  const server = createServer((socket) => {
    connections += 1;
    socket.on("error", () => {});
    socket.on("data", () => serve(socket));
  });
  const url = `${protocol}://127.0.0.1:${await listen(server)}`;
  return { url, transport: transportTo(url), connections: () => connections };
}

function send(transport: Transport, { signal = hangSignal(), body = "{}" } = {}) {
  return transport.send({
    body: Buffer.from(body),
    sessionId: "s".repeat(33),
    signal,
    trace: createTrace(),
  });
}

describe("the https transport", () => {
  it.each([
    "http://example.com",
    "http://10.0.0.1",
    "http://localhost.example.com",
    "ftp://127.0.0.1",
    "https://user:pass@example.com",
  ])("refuses the address %s at creation without repeating its password", (url) => {
    const make = () => createHttpsTransport({ url, authorizer: noAuthorizer });
    expect(make).toThrow(/must/);
    expect(make).not.toThrow(/user:pass/);
  });

  it("sends JSON, accepts uncompressed JSON and names the session", async () => {
    const { transport, requests } = await peer(() => json({}));
    await send(transport);
    const headers = Object.fromEntries(requests()[0]?.headers ?? []);
    expect(headers).toMatchObject({
      "content-type": "application/json",
      "content-length": "2",
      accept: "application/json",
      "accept-encoding": "identity",
      "x-amzn-bedrock-agentcore-runtime-session-id": "s".repeat(33),
    });
  });

  it("keeps the connection from one request to the next", async () => {
    const answer =
      "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}";
    const { transport, connections } = await socketPeer((socket) => socket.write(answer));
    for (let count = 0; count < 3; count += 1) await send(transport);
    expect(connections()).toBe(1);
  });

  it.each([301, 302, 303, 307, 308])(
    "never follows a redirect (%i), so that credentials stay with their peer",
    async (status) => {
      const elsewhere = await peer(() => json({}));
      const { transport } = await peer(
        () => new Response(null, { status, headers: { location: elsewhere.url } }),
      );
      await expect(send(transport)).rejects.toMatchObject({ reason: "invalid_response" });
      expect(elsewhere.requests()).toHaveLength(0);
    },
  );

  it.each([
    "text/html",
    "text/plain",
    "application/octet-stream",
    "application/json; charset=shift_jis",
    'application/json; profile="https://example.com/v1"; charset=latin1',
    "application/json charset=utf-8",
    "application/jsonp",
  ])("refuses the content type %s", async (type) => {
    const { transport } = await peer(() => raw("{}", { headers: { "content-type": type } }));
    await expect(send(transport)).rejects.toMatchObject({ reason: "invalid_response" });
  });

  it.each([
    "application/json",
    "Application/JSON; charset=UTF-8",
    'application/json;charset="utf-8"',
    "application/vnd.api+json",
    "application/json-rpc",
    'application/json; profile="https://example.com/v0.3"',
    'application/json; profile="a; charset=latin1"',
    "application/json; charset=utf-8; odata.metadata=minimal",
    "application/json;profile=x;charset=UTF8",
    "application/json;",
    "application/a2a+json; version=1.0",
  ])("accepts the content type %s", async (type) => {
    const { transport } = await peer(() => raw("{}", { headers: { "content-type": type } }));
    await expect(send(transport)).resolves.toMatchObject({ status: 200 });
  });

  it("accepts a body whose content type is missing", async () => {
    const { transport } = await socketPeer((socket) =>
      socket.write("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}"),
    );
    await expect(send(transport)).resolves.toMatchObject({ status: 200, body: Buffer.from("{}") });
  });

  it.each(["gzip", "br", "x-unknown"])(
    "refuses a body encoded as %s, because that would defeat the size limit",
    async (encoding) => {
      const { transport } = await peer(() =>
        raw("{}", { headers: { "content-encoding": encoding } }),
      );
      await expect(send(transport)).rejects.toMatchObject({ reason: "invalid_response" });
    },
  );

  it("returns status and Retry-After of a response whose body is unusable", async () => {
    const { transport } = await peer(() =>
      raw("<p>", { status: 503, headers: { "content-type": "text/html", "retry-after": "3" } }),
    );
    expect(await send(transport)).toEqual({
      status: 503,
      retryAfterMs: 3000,
      body: new Uint8Array(),
    });
  });

  it.each([
    ["nothing", "", "HTTP/1.1 200 OK"],
    ["half of its JSON", '{"jsonrpc":"2.0","id', "HTTP/1.0 200 OK"],
  ])(
    "treats a response of unknown length that ends after %s as ambiguous",
    async (_what, body, status) => {
      const { transport } = await socketPeer((socket) =>
        socket.end(`${status}\r\ncontent-type: application/json\r\n\r\n${body}`),
      );
      await expect(send(transport)).rejects.toMatchObject({
        reason: "ambiguous",
        certainty: "unknown",
      });
    },
  );

  it("accepts a response of unknown length if its JSON is complete", async () => {
    const { transport } = await socketPeer((socket) => socket.end("HTTP/1.0 200 OK\r\n\r\n{}"));
    expect(await send(transport)).toMatchObject({ status: 200, body: Buffer.from("{}") });
  });

  it("accepts a refusal of unknown length with any body", async () => {
    const { transport } = await socketPeer((socket) =>
      socket.end("HTTP/1.0 400 Bad Request\r\n\r\n<p>"),
    );
    expect(await send(transport)).toMatchObject({ status: 400 });
  });

  it("returns an empty or broken body of known length unchanged", async () => {
    for (const body of ["", "{"]) {
      const head = `HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n`;
      const { transport } = await socketPeer((socket) => socket.end(head + body));
      expect(await send(transport)).toMatchObject({ status: 200, body: Buffer.from(body) });
    }
  });

  it("rejects a response that is not HTTP", async () => {
    const { transport } = await socketPeer((socket) => socket.end("SSH-2.0-OpenSSH_9.2\r\n"));
    await expect(send(transport)).rejects.toMatchObject({ reason: "invalid_response" });
  });

  it("treats a failed TLS handshake as undelivered", async () => {
    const { transport } = await socketPeer((socket) => socket.end("no TLS here"), "https");
    await expect(send(transport)).rejects.toMatchObject({ reason: "unavailable" });
  });

  it("treats a handshake that lasts until the signal as unavailable", async () => {
    const { transport } = await socketPeer(() => {}, "https");
    await expect(send(transport, { signal: AbortSignal.timeout(50) })).rejects.toMatchObject({
      reason: "unavailable",
    });
  });

  it("limits a handshake to the connect timeout and reports the request as undelivered", async () => {
    const { url } = await socketPeer(() => {}, "https");
    const transport = closeAfterTest(
      createHttpsTransport({ url, authorizer: noAuthorizer, connectTimeoutMs: 50 }),
    );
    const patient = new AbortController().signal;
    await expect(send(transport, { signal: patient })).rejects.toMatchObject({
      reason: "unavailable",
      certainty: "undelivered",
    });
  });

  it("waits for the response for the whole call, independent of the connect timeout", async () => {
    jest.useFakeTimers({ doNotFake: [...realTimeButTimers] });
    closeAfterTest({ close: () => jest.useRealTimers() });
    const connectTimeoutMs = 1000;
    const { url } = await peer(() => {
      jest.advanceTimersByTime(2 * connectTimeoutMs);
      return json({});
    });
    const transport = closeAfterTest(
      createHttpsTransport({ url, authorizer: noAuthorizer, connectTimeoutMs }),
    );
    for (const _connection of ["new", "kept"])
      await expect(send(transport)).resolves.toMatchObject({ status: 200 });
  });

  it("treats an unrequested switch of protocols as ambiguous", async () => {
    const { transport } = await socketPeer((socket) =>
      socket.end(
        "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: other\r\n\r\n",
      ),
    );
    await expect(send(transport)).rejects.toMatchObject({
      reason: "ambiguous",
      certainty: "unknown",
    });
  });

  it("treats a name that does not resolve as unavailable", async () => {
    const transport = transportTo(
      "https://sekisho.invalid",
      createBearerAuthorizer({ readToken: async () => "t" }),
    );
    await expect(send(transport)).rejects.toMatchObject({ reason: "unavailable" });
  });

  it("treats a request on a kept connection that the peer just closed as ambiguous", async () => {
    let count = 0;
    const { transport } = await socketPeer((socket) => {
      count += 1;
      if (count === 1) socket.write("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}");
      else socket.destroy();
    });
    await send(transport);
    await expect(send(transport)).rejects.toMatchObject({ reason: "ambiguous" });
  });

  it("survives a peer that refuses a large body before it has read it", async () => {
    const { transport } = await socketPeer((socket) => {
      socket.removeAllListeners("data");
      socket.end("HTTP/1.1 413 Too Large\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
    });
    const outcome = await send(transport, { body: "x".repeat(8_000_000) }).then(
      ({ status }) => status,
      ({ reason }) => reason,
    );
    // The reset may overtake the answer.
    expect([413, "ambiguous"]).toContain(outcome);
  });
});

describe("authorization of the https transport", () => {
  it("renews the token once after a 401 and repeats the request once", async () => {
    const tokens = ["old", "new"];
    const authorizer = createBearerAuthorizer({ readToken: async () => tokens.shift() ?? "none" });
    const { transport, requests } = await peer(
      (request) =>
        request.headers.get("authorization") === "Bearer new" ? json({}) : raw("", { status: 401 }),
      authorizer,
    );
    expect(await send(transport)).toMatchObject({ status: 200 });
    expect(await send(transport)).toMatchObject({ status: 200 });
    expect(requests().map(({ headers }) => headers.get("authorization"))).toEqual([
      "Bearer old",
      "Bearer new",
      "Bearer new",
    ]);
  });

  it("gives up at the second 401", async () => {
    const { transport, requests } = await peer(
      () => raw("", { status: 401 }),
      createBearerAuthorizer({ readToken: async () => "t" }),
    );
    expect(await send(transport)).toMatchObject({ status: 401 });
    expect(requests()).toHaveLength(2);
  });

  it("renews the token once after many calls were refused at the same time", async () => {
    let reads = 0;
    const authorizer = createBearerAuthorizer({ readToken: async () => `t${++reads}` });
    const { transport } = await peer(
      (request) =>
        request.headers.get("authorization") === "Bearer t1" ? raw("", { status: 401 }) : json({}),
      authorizer,
    );
    const answers = await Promise.all(Array.from({ length: 20 }, () => send(transport)));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    expect(reads).toBe(2);
  });

  it("returns a 403 and uses a new token for the next request", async () => {
    let reads = 0;
    const authorizer = createBearerAuthorizer({ readToken: async () => `t${++reads}` });
    const { transport, requests } = await peer(() => raw("", { status: 403 }), authorizer);
    expect([await send(transport), await send(transport)]).toMatchObject([
      { status: 403 },
      { status: 403 },
    ]);
    expect(requests().map(({ headers }) => headers.get("authorization"))).toEqual([
      "Bearer t1",
      "Bearer t2",
    ]);
  });

  it("returns a 401 if the authorizer has nothing to renew", async () => {
    const { transport, requests } = await peer(() => raw("", { status: 401 }));
    expect(await send(transport)).toMatchObject({ status: 401 });
    expect(requests()).toHaveLength(1);
  });

  it("sends nothing if credentials are missing or late", async () => {
    const failing = createBearerAuthorizer({
      readToken: () => Promise.reject(new Error("the store is down")),
    });
    const { transport, requests } = await peer(() => json({}), failing);
    await expect(send(transport)).rejects.toMatchObject({ reason: "unavailable" });
    const hanging = await peer(
      () => json({}),
      createBearerAuthorizer({ readToken: () => new Promise(() => {}) }),
    );
    await expect(
      send(hanging.transport, { signal: AbortSignal.timeout(30) }),
    ).rejects.toMatchObject({
      reason: "unavailable",
    });
    expect([...requests(), ...hanging.requests()]).toHaveLength(0);
  });
});

describe("one POST to a peer that asks for a certificate", () => {
  let authority: Authority;

  let peer: TlsPeer;

  beforeAll(async () => {
    authority = await createAuthority("an authority");
    peer = await startTlsPeer({ authority });
  });

  afterAll(() => peer.close());

  function send(tls: Partial<Certified>, port = peer.port) {
    return sendOnce({
      http: closeAfterTest(createHttpClient()),
      method: "POST",
      url: new URL(`https://127.0.0.1:${port}`),
      certificate: { ca: authority.ca, ...tls },
      headers: {},
      body: Buffer.from("{}"),
      signal: hangSignal(),
      maxResponseBytes: 1000,
      nowMs: 0,
    });
  }

  // The alert comes at the end of the handshake in TLS 1.3, and in the middle of it in TLS 1.2.
  it.each(["TLSv1.3", "TLSv1.2"] as const)(
    "treats a request that the peer refuses for its missing certificate as undelivered (%s)",
    async (maxVersion) => {
      const { port, clients } = closeAfterTest(await startTlsPeer({ authority, maxVersion }));
      await expect(send({}, port)).rejects.toMatchObject({
        reason: "unavailable",
        certainty: "undelivered",
      });
      expect(clients).toEqual([]);
    },
  );

  it("connects with a certificate of the authority that the peer trusts", async () => {
    expect(await send(await authority.issue({ name: "alice" }))).toMatchObject({ status: 200 });
    expect(peer.clients).toEqual(["alice"]);
  });

  it("treats a connection that the peer closes silently as ambiguous", async () => {
    const expiredCertificate = await authority.issue({
      name: "bob",
      notAfter: new Date(Date.now() - 1000),
    });
    await expect(send(expiredCertificate)).rejects.toMatchObject({
      reason: "ambiguous",
      certainty: "unknown",
    });
  });
});
