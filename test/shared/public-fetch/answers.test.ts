import { createServer } from "node:http";
import { type AddressInfo, createServer as createSocketServer } from "node:net";
import { afterEach, describe, expect, it } from "@jest/globals";
import { createPublicFetch } from "../../../lambdas/shared/public-fetch/public-fetch.ts";
import { halfOf, raw, silence } from "../../doubles/answers.ts";
import { connectionReset, startWebServer } from "../../doubles/web-server.ts";
import { read } from "./read.ts";

const toClose: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of toClose.splice(0)) await close();
});

const fetchHere = createPublicFetch({ allowLoopback: true });

async function serve(handle: (request: Request) => Response | Promise<Response>) {
  const requests: Request[] = [];
  const { url, close } = await startWebServer({
    handle: async ({ request }) => {
      requests.push(request);
      return handle(request);
    },
  });
  toClose.push(close);
  return { url, requests };
}

async function serveBytes(text: string): Promise<string> {
  const server = createSocketServer((socket) => {
    socket.on("error", () => {});
    socket.once("data", () => socket.end(text));
  });
  const listening = Promise.withResolvers<void>();
  server.listen(0, "127.0.0.1", listening.resolve);
  await listening.promise;
  toClose.push(async () => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

describe("what a guarded fetch brings back", () => {
  it("is the body of a 200, asked for without a credential and without compression", async () => {
    const { url, requests } = await serve(() => raw("関所"));
    const bytes = await read(fetchHere, { url: `${url}/file?signature=a%2Fb` });
    expect(Buffer.from(bytes).toString()).toBe("関所");
    expect(requests.map(({ method, url: asked }) => [method, new URL(asked).search])).toEqual([
      ["GET", "?signature=a%2Fb"],
    ]);
    const names = [...(requests[0]?.headers.keys() ?? [])].sort();
    expect(names).toEqual(["accept", "accept-encoding", "connection", "host"]);
    expect(requests[0]?.headers.get("accept-encoding")).toBe("identity");
  });

  it("is at most what was asked for, announced or not", async () => {
    const whole = await serve(() => raw("x".repeat(100)));
    await expect(read(fetchHere, { url: whole.url, maxBytes: 100 })).resolves.toHaveLength(100);
    const announced = await serve(() => halfOf("x".repeat(101), { rest: "stall" }));
    const endless = await serve(() => raw(endlessStream()));
    for (const { url } of [announced, endless]) {
      await expect(read(fetchHere, { url, maxBytes: 100 })).rejects.toMatchObject({ reason: "payload_too_large" });
    }
  });

  it("is nothing where the answer is a redirect, and its target is never asked", async () => {
    const target = await serve(() => raw("secret"));
    for (const status of [301, 302, 303, 307, 308]) {
      const { url } = await serve(() => raw("", { status, headers: { location: target.url } }));
      await expect(read(fetchHere, { url })).rejects.toMatchObject({ reason: "invalid_response" });
    }
    expect(target.requests).toEqual([]);
  });

  it.each([
    [204, "invalid_response"],
    [206, "invalid_response"],
    [401, "invalid_response"],
    [403, "invalid_response"],
    [404, "invalid_response"],
    [410, "invalid_response"],
    [429, "unavailable"],
    [500, "unavailable"],
    [503, "unavailable"],
  ])("is nothing where the status is %i: %s", async (status, reason) => {
    const { url } = await serve(() => new Response(status === 204 ? null : "body", { status }));
    await expect(read(fetchHere, { url })).rejects.toMatchObject({ reason });
  });

  it("is nothing where it is compressed", async () => {
    const { url } = await serve(() => raw("x", { headers: { "content-encoding": "gzip" } }));
    await expect(read(fetchHere, { url })).rejects.toMatchObject({ reason: "invalid_response" });
  });

  it("is nothing where it is no HTTP, or another protocol", async () => {
    const noHttp = await serveBytes("SSH-2.0-OpenSSH_9.9\r\n");
    await expect(read(fetchHere, { url: noHttp })).rejects.toMatchObject({ reason: "invalid_response" });
    const switched = await serveBytes("HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n");
    await expect(read(fetchHere, { url: switched })).rejects.toMatchObject({ reason: "unavailable" });
  });

  it("is nothing where the connection breaks, before or within the answer", async () => {
    const reset = await serve(() => {
      throw connectionReset;
    });
    const broken = await serve(() => halfOf("x".repeat(100), { rest: "break" }));
    const gone = createServer();
    const listening = Promise.withResolvers<void>();
    gone.listen(0, "127.0.0.1", listening.resolve);
    await listening.promise;
    const { port } = gone.address() as AddressInfo;
    gone.close();
    for (const url of [reset.url, broken.url, `http://127.0.0.1:${port}/`]) {
      await expect(read(fetchHere, { url })).rejects.toMatchObject({ reason: "unavailable" });
    }
  });

  it.each([
    ["the head", silence],
    ["the rest of the body", () => halfOf("x".repeat(100), { rest: "stall" })],
  ])("is nothing where %s does not come in time", async (_what, handle) => {
    const { url } = await serve(handle);
    await expect(read(fetchHere, { url, timeoutMs: 150 })).rejects.toMatchObject({ reason: "unavailable" });
  });

  it("is nothing for a caller that gave up, and the server learns of it", async () => {
    const { url, requests } = await serve(silence);
    const caller = new AbortController();
    const pending = read(fetchHere, { url, signal: caller.signal });
    const ended = expect(pending).rejects.toThrow("enough");
    while (requests.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    caller.abort(new Error("enough"));
    await ended;
    await hungUp(requests[0]);
    await expect(read(fetchHere, { url, signal: caller.signal })).rejects.toThrow("enough");
    expect(requests).toHaveLength(1);
  });
});

function endlessStream(): ReadableStream<Uint8Array> {
  return new ReadableStream({ pull: (controller) => controller.enqueue(new Uint8Array(64)) });
}

async function hungUp(request: Request | undefined): Promise<void> {
  if (request === undefined) throw new Error("the server was not asked");
  if (!request.signal.aborted) await new Promise((resolve) => request.signal.addEventListener("abort", resolve));
}
