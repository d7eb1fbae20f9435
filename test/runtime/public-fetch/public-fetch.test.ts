import { freePort } from "@sekisho/local/free-port.ts";
import "reflect-metadata";
import { createServer as createTlsServer } from "node:https";
import { createServer } from "node:net";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import {
  createPublicFetch,
  createPublicPost,
  type PublicFetch,
  type PublicPost,
} from "@sekisho/runtime/public-fetch/public-fetch.ts";
import type { Resolve } from "@sekisho/runtime/public-fetch/reach.ts";
import fc from "fast-check";
import { halfOf, raw, silence } from "../../doubles/answers.ts";
import { forAll } from "../../doubles/for-all.ts";
import { type Certified, createAuthority } from "../../doubles/issuers/certificates.ts";
import { listen, serve } from "../../doubles/serving.ts";
import { connectionReset } from "../../doubles/web-server.ts";

function readValue(
  fetch: PublicFetch,
  {
    url,
    maxBytes = 4096,
    timeoutMs = 5000,
    signal = new AbortController().signal,
  }: { url: string; maxBytes?: number; timeoutMs?: number; signal?: AbortSignal },
): Promise<Uint8Array> {
  return fetch({ url, maxBytes, timeoutMs, signal });
}

const nobodyAsks: Resolve = async (name) => {
  throw new Error(`${name} was looked up`);
};

const guardedFetch = createPublicFetch({ resolve: nobodyAsks });
const refusedFile = { name: "SekishoError", reason: "permission_denied" };

function resolvingTo(...addresses: readonly string[]): Resolve {
  return async () =>
    addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }));
}

/** A server on loopback; which hosts it was asked for. */
async function startCounted() {
  const { url, received: requests } = await serve(() => raw("secret"));
  return {
    hosts: () => requests.map(({ request }) => request.headers.get("host")),
    port: new URL(url).port,
    url,
  };
}

/** A server that counts its connections. */
async function startSilent() {
  const counts = { connections: 0 };
  const server = createServer(() => {
    counts.connections += 1;
  });
  return { seen: counts, port: await listen(server) };
}

describe("an untrusted URL", () => {
  it.each([
    ["is not a URL", "file"],
    ["is a file address", "file:///etc/passwd"],
    ["is http", "http://example.com/a"],
    ["is http on loopback", "http://127.0.0.1/a"],
    ["holds a user", "https://user@example.com/a"],
    ["has an oversized host", `https://${"a".repeat(501)}/`],
    ["holds a password", "https://:secret@example.com/a"],
    ["names this machine", "https://127.0.0.1/"],
  ])("refuses a URL that %s without a DNS lookup", async (_why, url) => {
    await expect(readValue(guardedFetch, { url })).rejects.toMatchObject(refusedFile);
  });

  it("refuses http for a host name, even if loopback is allowed", async () => {
    const local = createPublicFetch({ resolve: resolvingTo("127.0.0.1"), allowLoopback: true });
    await expect(readValue(local, { url: "http://files.test/" })).rejects.toMatchObject(
      refusedFile,
    );
  });

  it("refuses addresses of private networks, even if loopback is allowed", async () => {
    const local = createPublicFetch({ resolve: nobodyAsks, allowLoopback: true });
    for (const host of [
      "10.0.0.1",
      "169.254.169.254",
      "[fd00::1]",
      "0.0.0.0",
      "[::]",
      "[::ffff:127.0.0.1]",
    ]) {
      await expect(readValue(local, { url: `https://${host}/` })).rejects.toMatchObject(
        refusedFile,
      );
    }
  });

  it("refuses a private address in any spelling", async () => {
    const byte = fc.integer({ min: 0, max: 255 });
    const privateAddress = fc.oneof(
      fc.tuple(fc.constantFrom(10, 127, 0, 224, 255), byte, byte, byte),
      fc.tuple(fc.constant(169), fc.constant(254), byte, byte),
      fc.tuple(fc.constant(192), fc.constant(168), byte, byte),
      fc.tuple(fc.constant(172), fc.integer({ min: 16, max: 31 }), byte, byte),
      fc.tuple(fc.constant(100), fc.integer({ min: 64, max: 127 }), byte, byte),
    );
    const spelling = fc.record({
      parts: fc.integer({ min: 1, max: 4 }),
      radixes: fc.array(fc.constantFrom(8, 10, 16), { minLength: 4, maxLength: 4 }),
      zeros: fc.integer({ min: 0, max: 3 }),
      dressed: fc.constantFrom(
        "plain",
        "dot",
        "percent",
        "wide",
        "ideographic",
        "mapped",
        "compatible",
        "nat64",
        "6to4",
      ),
    });
    await forAll(privateAddress, spelling).holdAsync(async (address, how) => {
      await expect(
        readValue(guardedFetch, { url: `https://${spell(address, how)}/` }),
      ).rejects.toMatchObject(refusedFile);
    }, 300);
  });
});

describe("a host name", () => {
  it.each([
    ["private", ["10.0.0.1"]],
    ["this machine's", ["127.0.0.1"]],
    ["public beside a private one", ["93.184.215.14", "192.168.1.1"]],
    ["private beside a public one", ["fd00::1", "2606:2800:220:1::1"]],
    ["malformed", ["localhost"]],
  ])("refuses a name whose address is %s", async (_what, addresses) => {
    const fetch = createPublicFetch({ resolve: resolvingTo(...addresses) });
    await expect(readValue(fetch, { url: "https://files.test/" })).rejects.toMatchObject(
      refusedFile,
    );
  });

  it("refuses a name of this machine as the system resolves it", async () => {
    const { port, hosts } = await startCounted();
    await expect(
      readValue(createPublicFetch(), { url: `https://localhost:${port}/` }),
    ).rejects.toMatchObject(refusedFile);
    expect(hosts()).toEqual([]);
  });

  it("resolves a name once and connects to that address", async () => {
    const { port, hosts } = await startCounted();
    const lookedUpNames: string[] = [];
    const fetch = createPublicFetch({
      allowLoopback: true,
      async resolve(name) {
        lookedUpNames.push(name);
        // Rebinding: whoever asks again gets another address.
        return [{ address: lookedUpNames.length === 1 ? "127.0.0.1" : "127.0.0.9", family: 4 }];
      },
    });
    const bytes = await readValue(fetch, { url: `http://localhost:${port}/` });
    expect(Buffer.from(bytes).toString()).toBe("secret");
    expect({ asked: lookedUpNames, hosts: hosts() }).toEqual({
      asked: ["localhost"],
      hosts: [`localhost:${port}`],
    });
  });

  it("reads from the address that answers if a name has several", async () => {
    const { port } = await startCounted();
    const fetch = createPublicFetch({
      allowLoopback: true,
      resolve: resolvingTo("::1", "127.0.0.1"),
    });
    await expect(readValue(fetch, { url: `http://localhost:${port}/` })).resolves.toHaveLength(6);
  });

  it.each([
    ["cannot be resolved", nobodyAsks],
    ["has no address", resolvingTo()],
  ])("reports a name that %s as unavailable", async (_why, resolve) => {
    const fetch = createPublicFetch({ resolve });
    await expect(readValue(fetch, { url: "https://files.test/" })).rejects.toMatchObject({
      reason: "unavailable",
    });
  });

  it("does not wait for a name that never resolves", async () => {
    const fetch = createPublicFetch({ resolve: () => new Promise(() => {}) });
    const late = readValue(fetch, { url: "https://files.test/", timeoutMs: 20 });
    await expect(late).rejects.toMatchObject({ reason: "unavailable" });
    const caller = new AbortController();
    const reading = readValue(fetch, { url: "https://files.test/", signal: caller.signal });
    caller.abort(new Error("enough"));
    await expect(reading).rejects.toThrow("enough");
  });

  it("does not connect to a name that resolves too late", async () => {
    const { promise, resolve: answerNow } = Promise.withResolvers<void>();
    const { seen, port } = await startSilent();
    const resolve: Resolve = async () => {
      await promise;
      return [{ address: "127.0.0.1", family: 4 }];
    };
    const fetch = createPublicFetch({ resolve, allowLoopback: true });
    await expect(
      readValue(fetch, { url: `http://localhost:${port}/`, timeoutMs: 20 }),
    ).rejects.toThrow();
    answerNow();
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(seen.connections).toBe(0);
  });
});

type Spelling = { parts: number; radixes: readonly number[]; zeros: number; dressed: string };

/** As inet_aton reads it: the last part fills what is left, each part in a base of its own. */
function spell(address: readonly number[], { parts, radixes, zeros, dressed }: Spelling): string {
  const [high, low] = [0, 2].map((at) =>
    ((address[at] ?? 0) * 256 + (address[at + 1] ?? 0)).toString(16),
  );
  if (dressed === "mapped") return `[::ffff:${address.join(".")}]`;
  if (dressed === "compatible") return `[::${address.join(".")}]`;
  if (dressed === "nat64") return `[64:ff9b::${address.join(".")}]`;
  if (dressed === "6to4") return `[2002:${high}:${low}::1]`;
  const lastPart = address.slice(parts - 1).reduce((value, part) => value * 256 + part, 0);
  const values = [...address.slice(0, parts - 1), lastPart];
  const text = values
    .map((value, at) => inBase({ value, radix: radixes[at] ?? 10, zeros }))
    .join(".");
  if (dressed === "dot") return `${text}.`;
  if (dressed === "ideographic") return text.replaceAll(".", "。");
  const each = (change: (code: number) => string) =>
    text.replace(/[0-9]/g, (digit) => change(digit.charCodeAt(0)));
  if (dressed === "percent") return each((code) => `%${code.toString(16)}`);
  return dressed === "wide" ? each((code) => String.fromCharCode(code + 0xfee0)) : text;
}

function inBase({ value, radix, zeros }: { value: number; radix: number; zeros: number }): string {
  if (radix === 10) return String(value);
  return `${radix === 16 ? "0X" : "0"}${"0".repeat(zeros)}${value.toString(radix)}`;
}

const fetchHere = createPublicFetch({ allowLoopback: true });

async function serveBytes(text: string): Promise<string> {
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.once("data", () => socket.end(text));
  });
  return `http://127.0.0.1:${await listen(server)}/`;
}

describe("the response of a guarded fetch", () => {
  it("returns the body of a 200 and asks without credentials and compression", async () => {
    const { url, received: requests } = await serve(() => raw("関所"));
    const bytes = await readValue(fetchHere, { url: `${url}/file?signature=a%2Fb` });
    expect(Buffer.from(bytes).toString()).toBe("関所");
    expect(requests.map(({ request, target }) => [request.method, target])).toEqual([
      ["GET", "/file?signature=a%2Fb"],
    ]);
    const headers = requests[0]?.request.headers;
    expect([...(headers?.keys() ?? [])].sort()).toEqual([
      "accept",
      "accept-encoding",
      "connection",
      "host",
    ]);
    expect(headers?.get("accept-encoding")).toBe("identity");
  });

  it("returns at most the requested size, announced or not", async () => {
    const whole = await serve(() => raw("x".repeat(100)));
    await expect(readValue(fetchHere, { url: whole.url, maxBytes: 100 })).resolves.toHaveLength(
      100,
    );
    const announcedPeer = await serve(() => halfOf("x".repeat(101), { rest: "stall" }));
    const endless = await serve(() => raw(endlessStream()));
    for (const { url } of [announcedPeer, endless]) {
      await expect(readValue(fetchHere, { url, maxBytes: 100 })).rejects.toMatchObject({
        reason: "payload_too_large",
      });
    }
  });

  it("refuses a redirect and never calls its target", async () => {
    const target = await serve(() => raw("secret"));
    for (const status of [301, 302, 303, 307, 308]) {
      const { url } = await serve(() => raw("", { status, headers: { location: target.url } }));
      await expect(readValue(fetchHere, { url })).rejects.toMatchObject({
        reason: "invalid_response",
      });
    }
    expect(target.received).toEqual([]);
  });

  it.each([
    [204, "invalid_response"],
    [206, "invalid_response"],
    [404, "invalid_response"],
    [429, "unavailable"],
    [503, "unavailable"],
  ])("refuses the status %i: %s", async (status, reason) => {
    const { url } = await serve(() => new Response(status === 204 ? null : "body", { status }));
    await expect(readValue(fetchHere, { url })).rejects.toMatchObject({ reason });
  });

  it("refuses a compressed answer", async () => {
    const { url } = await serve(() => raw("x", { headers: { "content-encoding": "gzip" } }));
    await expect(readValue(fetchHere, { url })).rejects.toMatchObject({
      reason: "invalid_response",
    });
  });

  it("refuses an answer that is not HTTP", async () => {
    const noHttp = await serveBytes("SSH-2.0-OpenSSH_9.9\r\n");
    await expect(readValue(fetchHere, { url: noHttp })).rejects.toMatchObject({
      reason: "invalid_response",
    });
  });

  it("reports a broken connection as unavailable, before or within the answer", async () => {
    const reset = await serve(() => {
      throw connectionReset;
    });
    const breakingPeer = await serve(() => halfOf("x".repeat(100), { rest: "break" }));
    for (const url of [reset.url, breakingPeer.url, `http://127.0.0.1:${await freePort()}/`]) {
      await expect(readValue(fetchHere, { url })).rejects.toMatchObject({ reason: "unavailable" });
    }
  });

  it.each([
    ["the response head", ({ request }: { request: Request }) => silence(request)],
    ["the end of the body", () => halfOf("x".repeat(100), { rest: "stall" })],
  ])("fails as unavailable if %s does not come in time", async (_what, handle) => {
    const { url } = await serve(handle);
    await expect(readValue(fetchHere, { url, timeoutMs: 150 })).rejects.toMatchObject({
      reason: "unavailable",
    });
  });

  it("rejects and hangs up when the caller gives up", async () => {
    const { url, received: requests } = await serve(({ request }) => silence(request));
    const caller = new AbortController();
    const pending = readValue(fetchHere, { url, signal: caller.signal });
    const end = expect(pending).rejects.toThrow("enough");
    while (requests.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    caller.abort(new Error("enough"));
    await end;
    await hungUp(requests[0]);
    await expect(readValue(fetchHere, { url, signal: caller.signal })).rejects.toThrow("enough");
    expect(requests).toHaveLength(1);
  });
});

function endlessStream(): ReadableStream<Uint8Array> {
  return new ReadableStream({ pull: (controller) => controller.enqueue(new Uint8Array(64)) });
}

async function hungUp(call: { request: Request } | undefined): Promise<void> {
  if (call === undefined) throw new Error("the server was not asked");
  const { signal } = call.request;
  if (!signal.aborted) await new Promise((resolve) => signal.addEventListener("abort", resolve));
}

const postHere = createPublicPost({ allowLoopback: true });

function send(
  post: PublicPost,
  { url, body = "関所", timeoutMs = 5000 }: { url: string; body?: string; timeoutMs?: number },
): ReturnType<PublicPost> {
  const headers = { "content-type": "text/plain", authorization: "Bearer token" };
  return post({ url, headers, body, timeoutMs, signal: new AbortController().signal });
}

describe("a guarded post", () => {
  it("sends only the given body and headers and those that HTTP needs", async () => {
    const { url, received: requests } = await serve(() => new Response(null, { status: 204 }));
    expect(await send(postHere, { url })).toEqual({ status: 204, retryAfter: undefined });
    const { request, body } = requests[0] ?? {};
    expect(request?.method).toBe("POST");
    expect(Buffer.from(body ?? []).toString()).toBe("関所");
    expect(Object.fromEntries(request?.headers ?? [])).toEqual({
      authorization: "Bearer token",
      connection: "close",
      "content-length": "6",
      "content-type": "text/plain",
      host: new URL(url).host,
    });
  });

  it("returns a redirect or a refusal like any other answer and follows nothing", async () => {
    const target = await serve(() => raw(""));
    const { url } = await serve(() => raw("", { status: 307, headers: { location: target.url } }));
    expect(await send(postHere, { url })).toMatchObject({ status: 307 });
    const busy = await serve(() => raw("busy", { status: 503, headers: { "retry-after": "30" } }));
    expect(await send(postHere, { url: busy.url })).toEqual({ status: 503, retryAfter: "30" });
    expect(target.received).toEqual([]);
  });

  it("does not wait for the body of the answer and hangs up", async () => {
    const { url, received: requests } = await serve(() =>
      halfOf("x".repeat(1000), { rest: "stall" }),
    );
    expect(await send(postHere, { url })).toMatchObject({ status: 200 });
    await hungUp(requests[0]);
  });

  it("does not connect to an address that is not public", async () => {
    const { seen, port } = await startSilent();
    const resolve = async () => [{ address: "127.0.0.1", family: 4 }];
    for (const url of [
      `http://127.0.0.1:${port}/`,
      `https://localhost:${port}/`,
      `https://client.example:${port}/`,
    ]) {
      const refusal = send(createPublicPost({ resolve }), { url });
      await expect(refusal).rejects.toMatchObject({ reason: "permission_denied" });
    }
    expect(seen.connections).toBe(0);
  });

  it("fails as unavailable if no answer comes in time", async () => {
    const { url } = await serve(({ request }) => silence(request));
    await expect(send(postHere, { url, timeoutMs: 100 })).rejects.toMatchObject({
      reason: "unavailable",
    });
  });
});

const trustedCertificates = getCACertificates("default");

/** A server with that certificate, on loopback; which names the clients asked for. */
async function serveTls(certificate: Certified) {
  const names: unknown[] = [];
  const server = createTlsServer({
    ...certificate,
    SNICallback: (name, answer) => answer(null, void names.push(name)),
  });
  server.on("request", (request, response) => response.end(request.headers.host));
  return { port: await listen(server), names };
}

describe("a connection that is pinned to an address", () => {
  const request = { name: "files.test", altName: { type: "dns", value: "files.test" } } as const;
  let certificate: Certified;
  beforeAll(async () => {
    const authority = await createAuthority("authority");
    certificate = await authority.issue(request);
    setDefaultCACertificates([...trustedCertificates, authority.ca]);
  });
  afterAll(() => setDefaultCACertificates(trustedCertificates));

  const fetchHere = createPublicFetch({ resolve: resolvingTo("127.0.0.1"), allowLoopback: true });

  it("sends the host name and accepts its certificate", async () => {
    const { port, names } = await serveTls(certificate);
    const bytes = await readValue(fetchHere, { url: `https://files.test:${port}/` });
    expect(Buffer.from(bytes).toString()).toBe(`files.test:${port}`);
    expect(names).toEqual(["files.test"]);
  });

  it("refuses a certificate for another name", async () => {
    const { port, names } = await serveTls(certificate);
    await expect(
      readValue(fetchHere, { url: `https://other.test:${port}/` }),
    ).rejects.toMatchObject({
      reason: "unavailable",
      cause: { code: "ERR_TLS_CERT_ALTNAME_INVALID" },
    });
    expect(names).toEqual(["other.test"]);
  });

  it("refuses the certificate of a name for a bare address", async () => {
    const { port } = await serveTls(certificate);
    await expect(readValue(fetchHere, { url: `https://127.0.0.1:${port}/` })).rejects.toMatchObject(
      {
        cause: { code: "ERR_TLS_CERT_ALTNAME_INVALID" },
      },
    );
  });

  it("refuses a certificate of an unknown authority", async () => {
    const stranger = await createAuthority("stranger");
    const { port } = await serveTls(await stranger.issue(request));
    await expect(
      readValue(fetchHere, { url: `https://files.test:${port}/` }),
    ).rejects.toMatchObject({
      reason: "unavailable",
      cause: { code: "UNABLE_TO_VERIFY_LEAF_SIGNATURE" },
    });
  });
});
