/** Answers in pieces over real sockets: to a client that reads, one that does not, one that goes away, and at the server's end. */
import { connect } from "node:net";
import { afterEach, describe, expect, it } from "@jest/globals";
import type { Exchange, ExchangeResponse } from "../../../lambdas/execution/http/exchange.ts";
import { createWebHandler } from "../../../lambdas/execution/http/routes.ts";
import { startExecutionServer } from "../../../lambdas/execution/http/server.ts";
import { createLog } from "../../../lambdas/shared/log.ts";
import { eventually } from "../test-host.ts";

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

type Answering = (exchange: Exchange) => ExchangeResponse;

async function serve({ answer, stallMs = 10_000 }: { answer: Answering; stallMs?: number }) {
  const lines: string[] = [];
  const log = createLog({ service: "execution", write: (line) => lines.push(line) });
  const host = { exchange: async (exchange: Exchange) => answer(exchange), authenticatorKind: "none" as const };
  const server = await startExecutionServer({ host, port: 0, stallMs, log });
  closing.push(() => server.close());
  return { ...server, lines };
}

/** Makes pieces for ever, one after each turn of the event loop, and remembers what became of it. */
function endless({ size = 10, heedsSignal = true } = {}) {
  const seen = { made: 0, isReturned: false, isAborted: () => false };
  async function* pieces(signal: AbortSignal): AsyncGenerator<string> {
    try {
      for (;;) {
        await new Promise((resolve) => setImmediate(resolve));
        if (heedsSignal && signal.aborted) return;
        seen.made += 1;
        yield "x".repeat(size);
      }
    } finally {
      seen.isReturned = true;
    }
  }
  const answer: Answering = ({ signal }) => {
    seen.isAborted = () => signal.aborted;
    return { status: 200, headers: { "content-type": "text/plain" }, body: pieces(signal) };
  };
  return { answer, seen };
}

async function* threePieces(): AsyncGenerator<string> {
  yield "関";
  yield "所";
  yield "!";
}

describe("an answer in pieces", () => {
  it("arrives whole, and its connection serves the next request", async () => {
    const { url } = await serve({
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

  it("is made no faster than the client reads", async () => {
    const { answer, seen } = endless({ size: 100_000 });
    const { port } = await serve({ answer, stallMs: 60_000 });
    const socket = takeNothing(port);
    let before = -1;
    await eventually(async () => {
      const isStill = seen.made > 0 && seen.made === before;
      before = seen.made;
      await new Promise((resolve) => setTimeout(resolve, 20));
      return isStill;
    });
    expect(seen.isReturned).toBe(false);
    socket.destroy();
    await eventually(() => seen.isReturned);
    expect(seen.made - before).toBeLessThanOrEqual(1);
  });

  it("ends where the client takes nothing for too long", async () => {
    const { answer, seen } = endless({ size: 100_000 });
    const { port } = await serve({ answer, stallMs: 150 });
    const socket = takeNothing(port);
    await eventually(() => seen.isReturned);
    socket.destroy();
  });

  it("ends when the client goes away", async () => {
    const { answer, seen } = endless();
    const { url } = await serve({ answer });
    const abort = new AbortController();
    await fetch(url, { signal: abort.signal });
    expect([seen.isReturned, seen.isAborted()]).toEqual([false, false]);
    abort.abort();
    await eventually(() => seen.isReturned && seen.isAborted());
  });

  it("ends so even where whoever makes it does not listen", async () => {
    const { answer, seen } = endless({ heedsSignal: false });
    const { url } = await serve({ answer });
    const abort = new AbortController();
    await fetch(url, { signal: abort.signal });
    abort.abort();
    await eventually(() => seen.isReturned);
  });

  it("ends when the server closes, which waits for nothing else", async () => {
    const { answer, seen } = endless();
    const { url, close } = await serve({ answer });
    const response = await fetch(url);
    const [text] = await Promise.all([response.text(), close()]);
    expect([text.length > 0, seen.isReturned]).toEqual([true, true]);
  });

  it("that breaks off breaks the connection, and the cause stays out of it", async () => {
    async function* breaking(): AsyncGenerator<string> {
      yield "one";
      throw new Error("password=hunter2");
    }
    const { url, lines } = await serve({ answer: () => ({ status: 200, headers: {}, body: breaking() }) });
    await expect(fetch(url).then((response) => response.text())).rejects.toThrow();
    expect(lines.join("")).toMatch(/"cause_kind":"Error"/);
    expect(lines.join("")).not.toContain("hunter2");
  });
});

describe("an answer that is unchanged", () => {
  it("has neither body nor length, on a socket and as a Response", async () => {
    const answer: Answering = () => ({ status: 304, headers: { etag: '"a"' }, body: "" });
    const { url } = await serve({ answer });
    const overWeb = await createWebHandler(async (exchange) => answer(exchange))(new Request(url));
    for (const response of [await fetch(url), overWeb]) {
      const { status, headers } = response;
      expect([status, headers.get("etag"), headers.get("content-length")]).toEqual([304, '"a"', null]);
    }
  });
});

describe("a parameter of the query", () => {
  it("is found by its name in any case, decoded, and is absent otherwise", async () => {
    const answer: Answering = ({ path, query }) => ({
      status: 200,
      headers: {},
      body: JSON.stringify([path, query("a2a-version"), query("other")]),
    });
    const { url } = await serve({ answer });
    const overWeb = createWebHandler(async (exchange) => answer(exchange));
    for (const [asked, expected] of [
      ["/a2a?x=1&A2A-Version=1%2E0", ["/a2a", "1.0", null]],
      ["/a2a?", ["/a2a", null, null]],
      ["/a2a", ["/a2a", null, null]],
    ] as const) {
      expect(await (await fetch(url + asked)).json()).toEqual(expected);
      expect(await (await overWeb(new Request(url + asked))).json()).toEqual(expected);
    }
  });
});

describe("the web-standard rim", () => {
  it("makes a piece when one is read, and tells whoever makes them that the reader is gone", async () => {
    const { answer, seen } = endless();
    const { body } = await createWebHandler(async (exchange) => answer(exchange))(new Request("http://127.0.0.1/"));
    const reader = (body ?? new ReadableStream<Uint8Array>()).getReader();
    for (let count = 1; count <= 3; count += 1) {
      expect(Buffer.from((await reader.read()).value ?? []).toString()).toBe("xxxxxxxxxx");
      expect(seen.made).toBe(count);
    }
    await reader.cancel();
    expect([seen.isReturned, seen.isAborted()]).toEqual([true, true]);
  });
});
