/** A guarded POST: what is sent, and what of the answer is read. The guard itself is that of the guarded fetch. */
import { createServer } from "node:net";
import { afterEach, describe, expect, it } from "@jest/globals";
import { createPublicPost, type PublicPost } from "../../../lambdas/shared/public-fetch/public-fetch.ts";
import { halfOf, raw, silence } from "../../doubles/answers.ts";
import { type Received, startWebServer } from "../../doubles/web-server.ts";

const toClose: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of toClose.splice(0)) await close();
});

const postHere = createPublicPost({ allowLoopback: true });

function send(
  post: PublicPost,
  { url, body = "関所", timeoutMs = 5000 }: { url: string; body?: string; timeoutMs?: number },
): ReturnType<PublicPost> {
  const headers = { "content-type": "text/plain", authorization: "Bearer token" };
  return post({ url, headers, body, timeoutMs, signal: new AbortController().signal });
}

async function serve(handle: (received: Received) => Response | Promise<Response>) {
  const received: Received[] = [];
  const { url, close } = await startWebServer({
    async handle(request) {
      received.push(request);
      return handle(request);
    },
  });
  toClose.push(close);
  return { url, received };
}

describe("a guarded post", () => {
  it("sends the body and the headers that were given, and no others of its own but what HTTP needs", async () => {
    const { url, received } = await serve(() => new Response(null, { status: 204 }));
    expect(await send(postHere, { url })).toEqual({ status: 204, retryAfter: undefined });
    const { request, body } = received[0] ?? {};
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

  it("tells a redirect and a refusal like any other answer, and follows nothing", async () => {
    const target = await serve(() => raw(""));
    const { url } = await serve(() => raw("", { status: 307, headers: { location: target.url } }));
    expect(await send(postHere, { url })).toMatchObject({ status: 307 });
    const busy = await serve(() => raw("busy", { status: 503, headers: { "retry-after": "30" } }));
    expect(await send(postHere, { url: busy.url })).toEqual({ status: 503, retryAfter: "30" });
    expect(target.received).toEqual([]);
  });

  it("does not wait for the answer's body, and hangs up on it", async () => {
    const { url, received } = await serve(() => halfOf("x".repeat(1000), { rest: "stall" }));
    expect(await send(postHere, { url })).toMatchObject({ status: 200 });
    const signal = received[0]?.request.signal;
    if (!signal?.aborted) await new Promise((resolve) => signal?.addEventListener("abort", resolve));
  });

  it("is not sent to an address that is not for everybody, and nobody there hears of it", async () => {
    let connections = 0;
    const server = createServer(() => {
      connections += 1;
    });
    const listening = Promise.withResolvers<void>();
    server.listen(0, "127.0.0.1", listening.resolve);
    await listening.promise;
    toClose.push(async () => void server.close());
    const address = server.address();
    const port = typeof address === "object" ? address?.port : undefined;
    const resolve = async () => [{ address: "127.0.0.1", family: 4 }];
    for (const url of [`http://127.0.0.1:${port}/`, `https://localhost:${port}/`, `https://client.example:${port}/`]) {
      const refused = send(createPublicPost({ resolve }), { url });
      await expect(refused).rejects.toMatchObject({ reason: "permission_denied" });
    }
    expect(connections).toBe(0);
  });

  it("is unavailable where no answer comes in time", async () => {
    const { url } = await serve(({ request }) => silence(request));
    await expect(send(postHere, { url, timeoutMs: 100 })).rejects.toMatchObject({ reason: "unavailable" });
  });
});
