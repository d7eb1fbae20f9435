/** Responses that are read while they arrive, against real sockets. */
import { describe, expect, it } from "@jest/globals";
import { createHttpClient, type HttpError } from "@sekisho/runtime/http/client.ts";
import { openStream } from "@sekisho/runtime/http/stream.ts";
import { closeAfterTest, serve } from "../../doubles/serving.ts";
import { connectionReset } from "../../doubles/web-server.ts";
import { hangSignal } from "../../tooling/hang.ts";

function open(url: string, { maxBytes = 100, signal = hangSignal() } = {}) {
  const http = closeAfterTest(createHttpClient());
  const request = { method: "GET" as const, url: new URL(url), headers: {}, signal };
  return openStream({ http, request, maxBytes });
}

async function readAll(chunks: AsyncIterable<Uint8Array>): Promise<string> {
  const pieces: Uint8Array[] = [];
  for await (const chunk of chunks) pieces.push(chunk);
  return Buffer.concat(pieces).toString();
}

const kindOf = (failing: Promise<unknown>) =>
  failing.then(
    () => "none",
    ({ kind }: HttpError) => kind,
  );

/** A body whose pieces the test sends. */
function createBody() {
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  const writer = writable.getWriter();
  return { body: readable, send: (text: string) => writer.write(Buffer.from(text)), writer };
}

describe("a streamed response", () => {
  it("resolves with its head and each piece before the rest is sent", async () => {
    const { body, send, writer } = createBody();
    const { url } = await serve(() => new Response(body, { status: 201, headers: { "x-a": "b" } }));
    const { status, headers, chunks } = await open(url);
    expect([status, headers["x-a"]]).toEqual([201, "b"]);
    const texts: string[] = [];
    const next = ["two", "three"];
    void send("one");
    for await (const chunk of chunks) {
      texts.push(Buffer.from(chunk).toString());
      const text = next.shift();
      if (text === undefined) void writer.close();
      else void send(text);
    }
    expect(texts).toEqual(["one", "two", "three"]);
  });

  it("keeps the pieces that nobody has read yet", async () => {
    const { url } = await serve(() => new Response("all of it"));
    const { chunks } = await open(url);
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(await readAll(chunks)).toBe("all of it");
  });

  it("has no pieces without a body", async () => {
    const { url } = await serve(() => new Response(null, { status: 204 }));
    expect(await readAll((await open(url)).chunks)).toBe("");
  });

  it("rejects what it read of a response that breaks off, after the pieces that arrived", async () => {
    const { body, send, writer } = createBody();
    const { url } = await serve(() => new Response(body));
    const { chunks } = await open(url);
    void send("one");
    const texts: string[] = [];
    const reading = (async () => {
      for await (const chunk of chunks) {
        texts.push(Buffer.from(chunk).toString());
        void writer.abort(new Error("cut")).catch(() => {});
      }
    })();
    expect(await kindOf(reading)).toBe("ambiguous");
    expect(texts).toEqual(["one"]);
  });

  it("rejects a connection that breaks before the head", async () => {
    const { url } = await serve(() => {
      throw connectionReset;
    });
    expect(await kindOf(open(url))).toBe("ambiguous");
  });

  it("rejects a body above the limit and closes the connection", async () => {
    const gone = Promise.withResolvers<void>();
    const { url } = await serve(({ request }) => {
      request.signal.addEventListener("abort", () => gone.resolve());
      return new Response(new ReadableStream({ pull: (each) => each.enqueue(Buffer.alloc(60)) }));
    });
    const { chunks } = await open(url);
    expect(await kindOf(readAll(chunks))).toBe("too_large");
    await gone.promise;
  });

  it("ends with its signal, which closes the connection", async () => {
    const gone = Promise.withResolvers<void>();
    const { body, send } = createBody();
    const { url } = await serve(({ request }) => {
      request.signal.addEventListener("abort", () => gone.resolve());
      return new Response(body);
    });
    const abort = new AbortController();
    const { chunks } = await open(url, { signal: abort.signal });
    void send("one");
    const reading = (async () => {
      for await (const _ of chunks) abort.abort();
    })();
    expect(await kindOf(reading)).toBe("ambiguous");
    await gone.promise;
  });
});
